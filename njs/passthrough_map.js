// The destination of a TLS connection by the name that the client asks for, before anything is decrypted.
//
// The controller keeps a file for each such name (docs/live-protocol.md, "Passthrough map"); they are read again for every connection, as
// nothing outlives one here. An empty answer closes the connection: what should stay encrypted is never decrypted by mistake.

import fs from 'fs';

// A valid name of a file. No other name has one; it can't become a path.
const NAME = /^[a-z0-9_-][a-z0-9._-]{0,252}$/;

// For all names that have no file of their own. Without it the controller has not written all of them yet.
const OTHERS = '_';

// The text of a file, null if there is none.
function read(s, name) {
    try {
        return fs.readFileSync(`${s.variables.narthex_passthrough_map}/${name}`, 'utf8');
    } catch (error) {
        if (error.code == 'ENOENT') {
            return null;
        }
        throw error;
    }
}

// The endpoints behind the name, separated by commas; null where NGINX is to decrypt.
function endpoints(s) {
    const name = (s.variables.ssl_preread_server_name || '').toLowerCase();
    const found = NAME.test(name) && name != OTHERS ? read(s, name) : null;
    if (found === null && read(s, OTHERS) === null) {
        throw new Error('the passthrough map is not complete yet, the connection is closed');
    }
    return found;
}

// For js_set in the server of the HTTPS port: the socket that the connection is handed to.
function way(s) {
    const found = endpoints(s);
    if (found === null) {
        return s.variables.narthex_decrypted;
    }
    return found && s.variables.narthex_passthrough;
}

// For js_set in the server of connections that are passed through: an endpoint at random.
function endpoint(s) {
    const all = (endpoints(s) || '').split(',');
    return all[Math.floor(Math.random() * all.length)];
}

export default { way, endpoint };
