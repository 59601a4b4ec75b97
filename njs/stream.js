// Where connections of the stream block go: TLS connections by the name that the client asks for, before anything is decrypted, those to TCP
// and UDP services by the port that they came to.
//
// The controller keeps a file with the endpoints of each (docs/live-protocol.md, "Stream map"); it is read again for every connection, as
// nothing outlives one here. An empty answer closes the connection.

import fs from 'fs';

// A valid name of a host's file. No other name has one; it can't become a path.
const NAME = /^[a-z0-9_-][a-z0-9._-]{0,252}$/;

// The file that is there when all others are.
const MARKER = '_';

// Bytes of an endpoint in a file: the digits of its address, a colon, its port, blanks.
const WIDTH = 40;

// Bytes of a file that are read before its size is asked for: nearly all files are shorter.
const AT_ONCE = 100 * WIDTH;

// Endpoints of a UDP service that a client chooses among: to weigh thousands takes too long.
const WINDOW = 64;

// Numbers that follow each other are spread evenly by it, also every second or third of them.
const GOLDEN = 0.6180339887498949;

// A descriptor of a file, null if there is none.
function open(s, file) {
    try {
        return fs.openSync(`${s.variables.narthex_stream_map}/${file}`);
    } catch (error) {
        if (error.code == 'ENOENT') {
            return null;
        }
        throw error;
    }
}

// Some endpoints of a file that has many, from one on, with the first behind the last.
function part(fd, all, count, from) {
    const bytes = Buffer.alloc(count * WIDTH);
    const straight = Math.min(bytes.length, (all - from) * WIDTH);
    fs.readSync(fd, bytes, 0, straight, from * WIDTH);
    if (straight < bytes.length) {
        fs.readSync(fd, bytes, straight, bytes.length - straight, 0);
    }
    return bytes;
}

// The endpoints of a file from a position on, with the first behind the last, at most this many. The position follows from their number.
// Null: there is no such file.
function endpoints(s, file, most, position) {
    const fd = open(s, file);
    if (fd === null) {
        return null;
    }
    try {
        const whole = Buffer.alloc(AT_ONCE);
        const read = fs.readSync(fd, whole, 0, AT_ONCE, 0);
        const isWhole = read < AT_ONCE;
        const all = Math.floor((isWhole ? read : fs.fstatSync(fd).size) / WIDTH);
        const count = Math.min(all, most);
        const from = position(all);
        const bytes = isWhole ? whole : part(fd, all, count, from);
        const found = [];
        for (let number = 0; number < count; number++) {
            const at = (isWhole ? (from + number) % all : number) * WIDTH;
            found.push(bytes.toString('utf8', at, at + WIDTH).trim().split(':'));
        }
        return found;
    } finally {
        fs.closeSync(fd);
    }
}

// The name by which NGINX finds the addresses of these endpoints (resolve, below), with the port of the first, which all have that count.
function name(found) {
    if (!found || !found.length) {
        return '';
    }
    const port = found[0][1];
    return `${found.filter((endpoint) => endpoint[1] == port).map((endpoint) => endpoint[0]).join('.')}.endpoints:${port}`;
}

// As many endpoints as a connection may try, by turns.
function turn(s, file) {
    return endpoints(s, file, Number(s.variables.narthex_tries), (all) => Math.floor(s.variables.connection * GOLDEN % 1 * all));
}

// A whole number of 32 bits, in which each bit of the given one counts.
function mixed(number) {
    const first = Math.imul(number ^ number >>> 16, 0x85ebca6b);
    const second = Math.imul(first ^ first >>> 13, 0xc2b2ae35);
    return (second ^ second >>> 16) >>> 0;
}

// The endpoint that a client keeps for as long as it is there (rendezvous hashing): whichever worker gets its datagrams, and after each session.
function kept(s, file) {
    const client = `${s.variables.remote_addr}:${s.variables.remote_port}`;
    let key = 0;
    for (let at = 0; at < client.length; at++) {
        key = mixed(key ^ client.charCodeAt(at));
    }
    const found = endpoints(s, file, WINDOW, (all) => key % Math.max(1, Math.ceil(all / WINDOW)) * WINDOW);
    let best = null, weight = -1;
    (found || []).forEach((endpoint) => {
        const own = mixed(key ^ mixed(parseInt(endpoint[0].slice(-8), 16) ^ endpoint[1]));
        if (own > weight) {
            best = endpoint;
            weight = own;
        }
    });
    return best && [best];
}

// For js_set: the endpoints of the TCP or UDP service on the port that the client connected to.
function service(s) {
    const protocol = s.variables.protocol.toLowerCase();
    const file = `l/${protocol}-${s.variables.server_port}`;
    return name(protocol == 'udp' ? kept(s, file) : turn(s, file));
}

// The same where the server decrypts. Only such a server finds them, and only these: what is to be decrypted never goes on as it is.
function decrypted(s) {
    return name(turn(s, `l/tls-${s.variables.server_port}`));
}

// The file of the name that a TLS client asks for. Null: its connections are decrypted.
function host(s) {
    const wanted = (s.variables.ssl_preread_server_name || '').toLowerCase();
    return NAME.test(wanted) && wanted != MARKER ? `p/${wanted}` : null;
}

// For js_set in the server of the HTTPS port: the socket that the connection is handed to.
function way(s) {
    const file = host(s);
    const found = file === null ? null : endpoints(s, file, 1, () => 0);
    if (found) {
        return found.length ? s.variables.narthex_passthrough : '';
    }
    const marker = open(s, MARKER);
    if (marker === null) {
        throw new Error('the stream map is not complete yet, the connection is closed');
    }
    fs.closeSync(marker);
    return s.variables.narthex_decrypted;
}

// For js_filter in the server of the HTTPS port, behind a load balancer that speaks the PROXY protocol: the header that goes on with the connection.
// It has the address and port that the load balancer was connected to, where NGINX's own would have those of this server.
function introduce(s) {
    const v = s.variables;
    const from = v.remote_addr;
    const isV6 = from.includes(':');
    const to = v.proxy_protocol_server_addr;
    // A load balancer that is not trusted may have another kind of address than its clients; one that checks itself names none.
    const known = to && to.includes(':') == isV6;
    const address = known ? to : v.server_addr;
    const port = known ? v.proxy_protocol_server_port : v.server_port;
    const header = Buffer.from(`PROXY ${isV6 ? 'TCP6' : 'TCP4'} ${from} ${address} ${v.remote_port} ${port}\r\n`);
    s.on('upstream', (data, flags) => {
        s.off('upstream');
        s.send(Buffer.concat([header, data]), flags);
    });
}

// For js_set in the server of connections that are passed through.
function passthrough(s) {
    const file = host(s);
    return file === null ? '' : name(turn(s, file));
}

// The answer to a question for the addresses (type A or AAAA) of a name, which are its labels: "0a000001.0a000002.endpoints".
function resolve(question) {
    let at = 12;
    const labels = [];
    while (question[at]) {
        labels.push(question.slice(at + 1, at + 1 + question[at]).toString());
        at += question[at] + 1;
    }
    const end = at + 5;
    const type = question[at + 2];
    const digits = type == 28 ? 32 : 8;
    const addresses = labels.filter((label) => label.length == digits).map((label) => Buffer.from(label, 'hex'));
    const head = Buffer.from([question[0], question[1], 0x81, 0x80, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
    // The name of the question, the type, class IN, an hour, the address.
    const records = addresses.map((address) => Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 14, 16, 0, address.length]), address]));
    return Buffer.concat([head, question.slice(12, end)].concat(records));
}

let answer;

// For js_preread in the server of names.
function ask(s) {
    s.on('upstream', (data) => {
        answer = resolve(data);
        s.done();
    });
}

// For js_filter there: the answer takes the place of what the server returns.
function reply(s) {
    s.on('downstream', (data, flags) => {
        s.off('downstream');
        s.send(answer, flags);
    });
}

export default { service, decrypted, way, introduce, passthrough, ask, reply };
