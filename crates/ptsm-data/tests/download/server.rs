//! A small web server that serves files as publishers do, and fails as networks do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How a request is answered.
#[derive(Clone, Debug, PartialEq)]
#[allow(dead_code, reason = "not every test program needs all of them")]
pub(crate) enum Manner {
    /// As it should be: ranges, `If-Range`, ETag.
    Well,
    /// The connection ends after so many bytes of the body.
    Drop(usize),
    /// Nothing more comes after so many bytes of the body.
    Stall(usize),
    /// One byte is another one.
    Wrong,
    /// The whole file, whatever was asked for.
    Whole,
    /// The same, and the connection ends after so many bytes of the body.
    WholeDrop(usize),
    /// The range that was asked for, though the file is another one.
    AnyRange,
    /// So many bytes at once, with pauses of milliseconds between them.
    Slow(usize, u64),
    /// A status and a header.
    Status(u16, &'static str),
    /// `Content-Length` is so much larger than it should be, or smaller.
    Length(i64),
    /// No answer at all.
    Silence,
    /// In pieces, without telling the length before.
    Chunked,
    /// Without anything to know the file by.
    Nameless,
    /// A web page.
    Page,
    /// Elsewhere: to the same path behind this one.
    Redirect(&'static str),
    /// What is no HTTP.
    Nonsense,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
#[allow(dead_code, reason = "not every test program looks at all of it")]
pub(crate) struct Request {
    /// With the query.
    pub(crate) path: String,
    /// The first byte that was asked for.
    pub(crate) from: Option<usize>,
    pub(crate) if_range: Option<String>,
    /// How often this path was asked for before.
    pub(crate) nth: usize,
}

type Responder = Box<dyn FnMut(&Request) -> Manner + Send>;

struct State {
    /// Contents and ETag, by path.
    files: Mutex<BTreeMap<String, (Vec<u8>, String)>>,
    answer: Mutex<Responder>,
    requests: Mutex<Vec<Request>>,
    /// Bytes of files that were sent.
    sent: AtomicU64,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    over: AtomicBool,
}

/// A server on this machine, until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

#[allow(dead_code, reason = "not every test program needs all of it")]
impl Server {
    pub(crate) fn new() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            files: Mutex::default(),
            answer: Mutex::new(Box::new(|_| Manner::Well)),
            requests: Mutex::default(),
            sent: AtomicU64::new(0),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = shared.clone();
                thread::spawn(move || {
                    // A client that went away is no fault of the server.
                    let _ = serve(stream.unwrap(), &shared);
                });
            }
        });
        Server { address, state }
    }

    /// What stands in place of the publishers' hosts.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Publishes a file, or another version of it.
    pub(crate) fn publish(&self, path: &str, bytes: &[u8]) {
        let mut files = self.state.files.lock().unwrap();
        let version = files.len() + bytes.len();
        let tag = format!("\"{version}-{}\"", bytes.iter().map(|&b| u64::from(b)).sum::<u64>());
        files.insert(path.to_string(), (bytes.to_vec(), tag));
    }

    /// How requests are answered from now on.
    pub(crate) fn answer(&self, answer: impl FnMut(&Request) -> Manner + Send + 'static) {
        *self.state.answer.lock().unwrap() = Box::new(answer);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Bytes of files that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::SeqCst)
    }

    /// How many answers were under way at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.most_at_once.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        // Wakes the one who waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, state: &State) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let Some(request) = read(&mut reader, state)? else { return Ok(()) };
        let manner = (state.answer.lock().unwrap())(&request);
        let now = state.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        state.most_at_once.fetch_max(now, Ordering::SeqCst);
        let goes_on = respond(&stream, &request, &manner, state);
        state.at_once.fetch_sub(1, Ordering::SeqCst);
        if !goes_on? {
            return stream.shutdown(Shutdown::Both);
        }
    }
}

fn read(reader: &mut impl BufRead, state: &State) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap().to_string();
    let (mut from, mut if_range) = (None, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match &*name.to_lowercase() {
            "range" => {
                from =
                    value.strip_prefix("bytes=").and_then(|v| v.strip_suffix('-')).map(|v| v.parse().unwrap())
            }
            "if-range" => if_range = Some(value.to_string()),
            _ => {}
        }
    }
    let mut requests = state.requests.lock().unwrap();
    let nth = requests.iter().filter(|request| request.path == path).count();
    requests.push(Request { path, from, if_range, nth });
    Ok(requests.last().cloned())
}

/// Whether the connection goes on.
fn respond(
    mut stream: &TcpStream,
    request: &Request,
    manner: &Manner,
    state: &State,
) -> std::io::Result<bool> {
    match manner {
        Manner::Silence => {
            while !state.over.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
            return Ok(false);
        }
        Manner::Status(status, header) => {
            let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
            write!(stream, "HTTP/1.1 {status} So\r\n{header}Content-Length: 4\r\n\r\nnope")?;
            return Ok(true);
        }
        Manner::Page => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>"
            )?;
            return Ok(true);
        }
        Manner::Redirect(before) => {
            let to = format!("{before}{}", request.path);
            write!(stream, "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(true);
        }
        Manner::Nonsense => {
            write!(stream, "220 mail.example.org ESMTP\r\n")?;
            return Ok(false);
        }
        _ => {}
    }
    let file = state.files.lock().unwrap().get(&request.path).cloned();
    let Some((mut bytes, tag)) = file else {
        write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(true);
    };
    let total = bytes.len();
    if *manner == Manner::Wrong {
        bytes[total / 2] ^= 1;
    }
    let same = request.if_range.as_ref().is_none_or(|given| *given == tag) || *manner == Manner::AnyRange;
    let whole = matches!(manner, Manner::Whole | Manner::WholeDrop(_));
    let from = request.from.filter(|_| same && !whole).unwrap_or(0);
    if request.from.is_some() && from >= total && !whole {
        write!(
            stream,
            "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */{total}\r\nContent-Length: 0\r\n\r\n"
        )?;
        return Ok(true);
    }
    let body = &bytes[from..];
    let mut head = String::from("HTTP/1.1 200 OK\r\n");
    if from > 0 {
        head =
            format!("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {from}-{}/{total}\r\n", total - 1);
    }
    if *manner != Manner::Nameless {
        head += &format!("ETag: {tag}\r\n");
    }
    match manner {
        Manner::Chunked => head += "Transfer-Encoding: chunked\r\n",
        Manner::Length(more) => head += &format!("Content-Length: {}\r\n", body.len() as i64 + more),
        _ => head += &format!("Content-Length: {}\r\n", body.len()),
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    let (pieces, pause) = match manner {
        Manner::Slow(bytes, pause) => (*bytes, *pause),
        _ => (1 << 16, 0),
    };
    let end = match manner {
        Manner::Drop(after) | Manner::WholeDrop(after) | Manner::Stall(after) => body.len().min(*after),
        Manner::Length(more) => body.len().saturating_add_signed(*more as isize).min(body.len()),
        _ => body.len(),
    };
    for (i, piece) in body[..end].chunks(pieces).enumerate() {
        thread::sleep(Duration::from_millis(if i == 0 { 0 } else { pause }));
        if *manner == Manner::Chunked {
            write!(stream, "{:x}\r\n", piece.len())?;
        }
        stream.write_all(piece)?;
        if *manner == Manner::Chunked {
            write!(stream, "\r\n")?;
        }
        state.sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
    }
    match manner {
        Manner::Chunked => write!(stream, "0\r\n\r\n")?,
        Manner::Stall(_) => {
            while !state.over.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        _ => {}
    }
    let ends = [Manner::Drop(0), Manner::WholeDrop(0), Manner::Stall(0), Manner::Length(0)];
    Ok(!ends.iter().any(|end| std::mem::discriminant(end) == std::mem::discriminant(manner)))
}
