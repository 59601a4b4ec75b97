//! Methods of requests.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::words::choice;

choice! {
    /// The method of a request. Upper case.
    Method, "GET, HEAD, POST, PUT, PATCH, DELETE, CONNECT, OPTIONS or TRACE", {
        /// Reads.
        Get => "GET",
        /// Reads the headers only.
        Head => "HEAD",
        /// Sends.
        Post => "POST",
        /// Stores.
        Put => "PUT",
        /// Changes in part.
        Patch => "PATCH",
        /// Removes.
        Delete => "DELETE",
        /// Opens a tunnel.
        Connect => "CONNECT",
        /// Asks what is possible.
        Options => "OPTIONS",
        /// Echoes.
        Trace => "TRACE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_one_of_nine_in_upper_case() {
        for method in Method::ALL {
            assert_eq!(method.as_str().parse(), Ok(*method));
        }
        for text in ["", "get", "GET ", "GET;", "PURGE", "GET\n"] {
            assert!(text.parse::<Method>().is_err(), "{text:?}");
        }
    }
}
