//! [`Patient`]: the byte stream of a connection. Bytes read ahead to tell HTTP/2 from HTTP/1.1 come first, and a peer
//! that takes its answers too slowly is disconnected.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use super::incoming::{BODY, earned};
use super::seats::Seat;

/// First bytes of an HTTP/2 connection (RFC 9113 section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A TCP connection with a deadline for writes.
pub struct Patient {
    stream: TcpStream,
    seat: Arc<Seat>,
    first: Vec<u8>,
    /// Deadline for the peer to take what waits to be sent; `None`: nothing waits.
    limit: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    /// Wraps a connection from which nothing was read.
    pub fn of(stream: TcpStream, seat: Arc<Seat>) -> Self {
        Self { stream, seat, first: Vec::with_capacity(PREFACE.len()), limit: None }
    }

    /// Reads until it is clear whether the connection begins with the preface of HTTP/2, and returns that.
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

    /// Handles the result of a write: one that has to wait starts the deadline, and each byte taken extends it.
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
        // The kernel has taken everything that waited.
        self.limit = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
