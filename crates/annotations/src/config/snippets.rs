//! Text for NGINX from the administrator.

use ngx_value::Snippet;

use super::grammar::SNIPPET;
use super::table::settings;

settings! {
    /// Text for NGINX from the administrator. Each must be balanced: it can't close the block it stands in.
    SnippetDefaults in snippets;

    /// Text outside of all blocks, before `events`.
    main: Option<Snippet> = None, "main-snippet", SNIPPET, "worker_priority -5;", [Text];
    /// Text for the http block.
    http: Option<Snippet> = None, "http-snippet", SNIPPET, "map $http_x_team $team { default none; red 1; }", [Text, Ingresses];
    /// Text for every server block, the one for unknown hosts included.
    server: Option<Snippet> = None, "server-snippet", SNIPPET, "set $shop example;", [Text, Ingresses];
    /// Text for every location, behind its `configuration-snippet`.
    location: Option<Snippet> = None, "location-snippet", SNIPPET, "set $zone a;", [Text, Ingresses];
    /// Text for the stream block, behind the `stream-snippet`s of Ingresses.
    stream: Option<Snippet> = None, "stream-snippet", SNIPPET, "tcp_nodelay off;", [Text];
}
