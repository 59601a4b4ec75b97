//! Text for NGINX from the administrator.

use ngx_value::Snippet;

use super::grammar::SNIPPET;
use super::table::settings;

settings! {
    /// Text for NGINX from the administrator. Each must be balanced: it can't close the block it stands in.
    SnippetDefaults in snippets;

    /// Text outside of all blocks, before `events`.
    main_snippet: Option<Snippet> = None, SNIPPET, "worker_priority -5;", [Text];
    /// Text for the http block.
    http_snippet: Option<Snippet> = None, SNIPPET, "map $http_x_team $team { default none; red 1; }", [Text, Ingresses];
    /// Text for every server block, the one for unknown hosts included.
    server_snippet: Option<Snippet> = None, SNIPPET, "set $shop example;", [Text, Ingresses];
    /// Text for every location, behind its `configuration-snippet`.
    location_snippet: Option<Snippet> = None, SNIPPET, "set $zone a;", [Text, Ingresses];
    /// Text for the stream block, behind the `stream-snippet`s of Ingresses.
    stream_snippet: Option<Snippet> = None, SNIPPET, "tcp_nodelay off;", [Text];
}
