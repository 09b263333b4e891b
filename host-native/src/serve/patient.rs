//! [`Patient`]: a connection's bytes, for HTTP. What was read ahead to tell HTTP/2 from HTTP/1.1 comes first, and a
//! reader that takes its answers too slowly is given up.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::incoming::{BODY, earned};
use super::seats::Seat;

/// How a connection begins that speaks HTTP/2 (RFC 9113 section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection.
pub struct Patient {
    stream: TcpStream,
    seat: Arc<Seat>,
    first: Vec<u8>,
    /// Until then the peer must have taken what waits to be sent; none: nothing waits.
    limit: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    /// A connection of which nothing was read.
    pub fn of(stream: TcpStream, seat: Arc<Seat>) -> Self {
        Self { stream, seat, first: Vec::with_capacity(PREFACE.len()), limit: None }
    }

    /// Whether the connection begins with the preface of HTTP/2; waits until that is known.
    pub async fn speaks_http2(&mut self) -> Result<bool> {
        while self.first.len() < PREFACE.len() {
            let mut rest = (&mut self.stream).take((PREFACE.len() - self.first.len()) as u64);
            let read = rest.read_buf(&mut self.first).await?;
            if read == 0 || !PREFACE.starts_with(&self.first) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What came of a write: one that has to wait has a limit, and each byte taken moves it.
    fn wrote(&mut self, context: &mut Context<'_>, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.seat.moved(bytes);
        }
        match (written, &mut self.limit) {
            (Poll::Ready(Ok(bytes)), Some(limit)) => {
                let moved = limit.deadline() + earned(bytes);
                limit.as_mut().reset(moved);
                Poll::Ready(Ok(bytes))
            }
            (Poll::Pending, limit) => {
                let limit = limit.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + BODY)));
                ready!(limit.as_mut().poll(context));
                Poll::Ready(Err(Error::from(ErrorKind::TimedOut)))
            }
            (written, None) | (written @ Poll::Ready(Err(_)), _) => written,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        if self.first.is_empty() {
            let before = out.filled().len();
            let read = Pin::new(&mut self.stream).poll_read(context, out);
            self.seat.moved(out.filled().len() - before);
            return read;
        }
        let count = self.first.len().min(out.remaining());
        out.put_slice(&self.first[..count]);
        self.first.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // Everything that waited is on its way.
        self.limit = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
