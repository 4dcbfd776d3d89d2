import http from 'node:http'
import net from 'node:net'
import express from 'express'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { AUTH_KEY, listen, post, receiving } from '../support/receiving.ts'

const bodyOf = (length: number): string => {
  const fields = { ...callback.smsDelivery({ authKey: AUTH_KEY }), padding: '' }
  return JSON.stringify({ ...fields, padding: 'x'.repeat(length - JSON.stringify(fields).length) })
}

interface Reply {
  readonly status: number | undefined
  readonly connection: string | undefined
  readonly text: string
}

/** A request whose body goes out as the test says; chunked unless a length is announced. */
function open(url: string, headers: http.OutgoingHttpHeaders = {}) {
  const request = http.request(url, { method: 'POST', headers })
  const reply = new Promise<Reply>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode, connection: response.headers.connection, text }))
    })
  })
  onTestFinished(() => void request.destroy())
  return { request, reply }
}

const TOO_LARGE = { status: 413, connection: 'close', text: expect.stringContaining('body_too_large') as unknown }

test('a body of maxBodyBytes is taken, with its length and without', async () => {
  const { url } = await receiving({ maxBodyBytes: 1_000 })
  const announced = open(url, { 'content-length': 1_000 })
  announced.request.end(bodyOf(1_000))
  expect(await announced.reply).toMatchObject({ status: 204 })
  const chunked = open(url)
  chunked.request.write(bodyOf(1_000).slice(0, 500))
  chunked.request.end(bodyOf(1_000).slice(500))
  expect((await chunked.reply).status).not.toBe(413)
})

test('one byte more is answered 413 before it is read, and the connection is closed', async () => {
  const { url, errors } = await receiving({ maxBodyBytes: 1_000 })
  const { request, reply } = open(url, { 'content-length': 1_001 })
  request.flushHeaders()
  request.write('x')
  setTimeout(() => request.end(bodyOf(1_000)), 50)
  expect(await reply).toMatchObject(TOO_LARGE)
  expect(errors).toMatchObject([{ code: 'body_too_large', status: 413 }])
  expect(errors[0]?.detail).toBe('1001 bytes were announced; `maxBodyBytes` is 1000.')
})

test('one byte more in chunks is answered 413 while it is sent, and the connection is closed', async () => {
  const { url, errors } = await receiving({ maxBodyBytes: 1_000 })
  const { request, reply } = open(url)
  // What is ended with all of it announces its length.
  request.write('x'.repeat(600))
  request.end('x'.repeat(401))
  expect(await reply).toMatchObject(TOO_LARGE)
  expect(errors).toMatchObject([{ code: 'body_too_large', status: 413 }])
  expect(errors[0]?.detail).toBe('1001 bytes had arrived, and more may come; `maxBodyBytes` is 1000.')
})

test('a client that never stops sending is cut off', async () => {
  const { url } = await receiving({ maxBodyBytes: 1_000 })
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let sent = 0
  let text = ''
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n')
  // A write that fails calls back before the socket is destroyed: who writes again then does so for ever.
  const send = (error?: Error | null): void => {
    if (socket.destroyed || error) return
    sent += 65_536
    socket.write(Buffer.alloc(65_536), send)
  }
  send()
  await closed
  expect(text).toContain('413')
  expect(sent).toBeLessThan(64 * 1024 * 1024)
})

test('a client that stalls after its 413 is cut off after bodyTimeoutMs', async () => {
  const { url } = await receiving({ maxBodyBytes: 10, bodyTimeoutMs: 50 })
  const { request, reply } = open(url, { 'content-length': 1_000 })
  request.write('x')
  expect(await reply).toMatchObject({ status: 413 })
})

test('a body that takes longer than bodyTimeoutMs in all is answered 408, however busily it is sent', async () => {
  const { url, errors } = await receiving({ bodyTimeoutMs: 120 })
  const { request, reply } = open(url, { 'content-length': 100 })
  const interval = setInterval(() => request.write('x'), 20)
  onTestFinished(() => clearInterval(interval))
  expect(await reply).toMatchObject({ status: 408, connection: 'close' })
  clearInterval(interval)
  expect(errors).toMatchObject([{ code: 'body_too_slow', status: 408 }])
  expect(errors[0]?.detail).toMatch(/^\d+ of 100 bytes had arrived, and `bodyTimeoutMs` is 120\.$/)
})

test('a body that ends before its announced length is not taken', async () => {
  const { receiver, url, errors } = await receiving()
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  socket.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n{"a":1}')
  await expect.poll(() => errors).toMatchObject([{ code: 'body_incomplete', status: 400 }])
  expect(errors[0]?.detail).toBe('7 of 20 bytes had arrived.')
  expect(await receiver.stats()).toMatchObject({ taken: 0, refused: 1 })
})

test('a callback whose client has gone after its last byte is taken', async () => {
  const { receiver } = await receiving()
  // Something before us takes its time, and the client does not wait.
  const app = express().use((request, _response, next) => {
    setImmediate(() => {
      request.socket.once('close', () => next())
      socket.destroy()
    })
  }, receiver.middleware('status'))
  const server = http.createServer(app)
  const { port } = new URL(await listen(server))
  onTestFinished(() => void server.close())
  const body = JSON.stringify(callback.smsDelivery({ messageId: 'left', authKey: AUTH_KEY }))
  const socket = net.connect(Number(port), '127.0.0.1')
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  const latest = async (): Promise<string | undefined> => (await receiver.messageState('left'))?.type
  await expect.poll(latest, { timeout: 10_000 }).toBe('message.delivered')
})

test('past maxInflightBytes reading pauses, and every callback is taken all the same', async () => {
  const { receiver, url, errors } = await receiving({ maxInflightBytes: 100_000 })
  const body = bodyOf(60_000)
  const requests = Array.from({ length: 8 }, () => open(url, { 'content-length': body.length }))
  // All of them are half way when the bound is met.
  for (const { request } of requests) request.write(body.slice(0, 30_000))
  await new Promise((resolve) => setTimeout(resolve, 50))
  for (const [index, { request }] of requests.entries())
    setTimeout(() => request.end(body.slice(30_000)), 5 * (requests.length - index))
  const replies = await Promise.all(requests.map(({ reply }) => reply))
  expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(204))
  expect(errors).toEqual([])
  expect(await receiver.stats()).toMatchObject({ taken: 8, duplicates: 7 })
})

test('bodyTimeoutMs is measured by the receiver’s own clock', async () => {
  const clock = fakeClock()
  const { url } = await receiving({ clock, bodyTimeoutMs: 10_000 })
  const { request, reply } = open(url, { 'content-length': 100 })
  request.write('{')
  await new Promise((resolve) => setTimeout(resolve, 50))
  await clock.advance(9_999)
  await clock.advance(1)
  expect(await reply).toMatchObject({ status: 408 })
  expect((await post(url, callback.smsDelivery())).status).toBe(204)
})
