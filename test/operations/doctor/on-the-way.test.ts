/** Harmful proxies and middleware in front of the receiver: the doctor names each planted one. */
import { gzipSync } from 'node:zlib'
import express from 'express'
import { expect, test } from 'vitest'
import { receiving, serve, SIGNING_SECRET } from '../../support/receiving.ts'
import { askDoctor, faultsOf, proxying, textOf, withHeader, withoutHeader } from './asking.ts'

const HEADER = 'x-service-signature'

async function app(proof: 'either' | 'signature' = 'either') {
  const { receiver } = await receiving({ proof })
  receiver.onAny(() => {})
  return { receiver, url: await serve(receiver.middleware('status')) }
}

const again = (body: Buffer): Buffer => Buffer.from(JSON.stringify(JSON.parse(body.toString())))
const signed = (change: (value: string) => readonly string[]) => (headers: string[]) =>
  withHeader(headers, HEADER, change)

test.each([
  ['adds a newline', (body: Buffer) => Buffer.from(`${body.toString()}\n`), undefined, 'parsed and serialised again'],
  ['serialises the JSON again', again, undefined, 'parsed and serialised again'],
  [
    'rewrites a field',
    (body: Buffer) => Buffer.from(body.toString().replace('"probe"', '"PROBE"')),
    undefined,
    'Of the body, ',
  ],
  ['strips the header', undefined, (headers: string[]) => withoutHeader(headers, HEADER), 'header was removed'],
  ['sends the header twice', undefined, signed((value) => [value, value]), 'arrived 2 times'],
  ['makes capitals of the header', undefined, signed((value) => [value.toUpperCase()]), 'another value'],
])('a proxy that %s', async (_, body, headers, text) => {
  const [either, signature] = [await app(), await app('signature')]
  const behind = (url: string) =>
    proxying(url, (passed) => {
      passed.body = body?.(passed.body) ?? passed.body
      passed.headers = headers?.(passed.headers) ?? passed.headers
    })
  // Only the receiver's own process knows what changed, even if no proof is valid.
  for (const { receiver, url } of [either, signature]) {
    const diagnosis = await receiver.doctor({ url: await behind(url) })
    expect(faultsOf(diagnosis)).toEqual(['probe_changed'])
    expect(textOf(diagnosis, 'probe_changed')).toContain(text)
  }
  // From outside, the answer says so if the Auth Key proves the probe.
  expect(faultsOf(await askDoctor(await behind(either.url)))).toEqual(['probe_changed'])
  const secretAlone = { signingSecret: SIGNING_SECRET }
  expect(faultsOf(await askDoctor(await behind(signature.url), secretAlone))).toEqual(['pair_wrong'])
})

test.each([
  ['express.json()', 'either', express.json({ limit: '1mb' })],
  ['a parser for every type, where a signature is asked for', 'signature', express.json({ type: () => true })],
] as const)('%s before the receiver', async (_, proof, parser) => {
  const { receiver } = await app(proof)
  const url = await serve(express().use(parser, receiver.middleware('status')))
  expect(faultsOf(await receiver.doctor({ url }))).toEqual(['parsed_before'])
  expect(faultsOf(await askDoctor(url))).toEqual([proof === 'either' ? 'parsed_before' : 'pair_wrong'])
})

test.each([
  ['compresses', gzipSync, ['body_lost']],
  // The receiver reads such callbacks.
  ['only says that it compresses', (body: Buffer) => body, []],
] as const)('a proxy that %s: the probe is not an event', async (_, change, faults) => {
  const { receiver, url } = await app()
  const handled: string[] = []
  receiver.onAny(({ type }) => void handled.push(type))
  const front = await proxying(url, (passed) => {
    passed.body = change(passed.body)
    passed.headers.push('Content-Encoding', 'gzip')
  })
  const diagnosis = await askDoctor(front)
  expect(faultsOf(diagnosis)).toEqual(faults)
  if (faults.length > 0) expect(textOf(diagnosis, 'body_lost')).toContain('(content_encoding)')
  await receiver.drain()
  expect(handled).toEqual([])
})

test('a proxy that announces a longer body, and middleware that changes the method', async () => {
  const { receiver } = await app()
  const middleware = receiver.middleware('status')
  const longer = await serve((request, response) => {
    request.headers['content-length'] = '100000'
    middleware(request, response)
  })
  expect(faultsOf(await askDoctor(longer))).toEqual(['body_lost'])
  const putting = await serve((request, response) => {
    request.method = 'PUT'
    middleware(request, response)
  })
  expect(faultsOf(await askDoctor(putting))).toEqual(['path_unknown'])
})

test('middleware that delays each request for longer than a second', async () => {
  const { receiver } = await app()
  const delaying = express().use((_request, _response, next) => void setTimeout(next, 1_050))
  expect(faultsOf(await askDoctor(await serve(delaying.use(receiver.middleware('status')))))).toEqual(['slow'])
})
