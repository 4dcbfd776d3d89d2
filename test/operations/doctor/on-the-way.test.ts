/** Harmful proxies and middleware in front of the receiver: the doctor names each planted one. */
import { gzipSync } from 'node:zlib'
import express from 'express'
import { expect, test } from 'vitest'
import { receiving, SIGNING_SECRET } from '../../support/receiving.ts'
import { askDoctor, faultsOf, proxying, serving, textOf, withHeader, withoutHeader } from './asking.ts'

const HEADER = 'x-service-signature'
/** Without the Auth Key the answer to any fault is 401. */
const SECRET_ALONE = { signingSecret: SIGNING_SECRET }

async function app(proof: 'either' | 'signature' = 'either') {
  const { receiver } = await receiving({ proof })
  receiver.onAny(() => {})
  return { receiver, url: await serving(receiver.middleware('status')) }
}

const CHANGES: readonly (readonly [string, (body: Buffer) => Buffer, string])[] = [
  ['adds a newline', (body) => Buffer.concat([body, Buffer.from('\n')]), 'a newline was appended'],
  [
    'serialises the JSON again',
    (body) => Buffer.from(JSON.stringify(JSON.parse(body.toString()))),
    'parsed and serialised again.',
  ],
  [
    'serialises the JSON again and indents it',
    (body) => Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 2)),
    'parsed and serialised again, indented by two.',
  ],
  ['takes it for Latin-1', (body) => Buffer.from(body.toString('latin1')), 'decoded as Latin-1'],
]

test.each(CHANGES)('a proxy that %s', async (_, change, named) => {
  // If the Auth Key proves the probe, the answer says so; otherwise only the receiver's own process knows.
  const [either, signature] = [await app(), await app('signature')]
  const behind = (url: string) => proxying(url, (passed) => (passed.body = change(passed.body)))
  for (const diagnosis of [
    await askDoctor(await behind(either.url)),
    await signature.receiver.doctor({ url: await behind(signature.url) }),
  ]) {
    expect(faultsOf(diagnosis)).toEqual(['bytes_changed'])
    expect(textOf(diagnosis, 'bytes_changed')).toContain(named)
  }
})

test('an unforeseen change of the body is reported by its lengths', async () => {
  const { url } = await app()
  const front = await proxying(url, (passed) => {
    passed.body = Buffer.from(passed.body.toString().replace('"status" : "probe"', '"status" : "PROBE!"'))
  })
  expect(textOf(await askDoctor(front), 'bytes_changed')).toMatch(/Unknown change: \d+ bytes were sent, \d+ arrived/)
})

test.each([
  ['strips the header', () => [], 'header_missing', 'removed'],
  ['sends it twice', (value: string) => [value, value], 'header_changed', 'it was sent twice'],
  ['repeats it in a line', (value: string) => [`${value}, ${value}`], 'header_changed', 'repeated within one line'],
  ['makes capitals of it', (value: string) => [value.toUpperCase()], 'header_changed', 'changed to upper case'],
  ['quotes it', (value: string) => [`"${value}"`], 'header_changed', 'quotation marks'],
  ['cuts it', (value: string) => [value.slice(0, 40)], 'header_changed', 'Unknown change'],
] as const)('a proxy that %s', async (_, change, code, named) => {
  const { receiver, url } = await app()
  const front = await proxying(url, (passed) => (passed.headers = withHeader(passed.headers, HEADER, change)))
  for (const diagnosis of [await askDoctor(front), await receiver.doctor({ url: front })]) {
    expect(faultsOf(diagnosis)).toEqual([code])
    expect(textOf(diagnosis, code)).toContain(named)
  }
})

test('accepts a header that is folded into a list, and reports it', async () => {
  const { url } = await app('signature')
  const front = await proxying(url, (passed) => {
    passed.headers = withHeader(passed.headers, HEADER, (value) => [value.replace(',', ', ')])
  })
  const diagnosis = await askDoctor(front, SECRET_ALONE)
  expect(faultsOf(diagnosis)).toEqual(['header_changed'])
  expect(textOf(diagnosis, 'header_changed')).toContain('folded as a list')
})

test('without any proof, the receiver’s own process knows why', async () => {
  const { receiver, url } = await app('signature')
  const stripped = await proxying(url, (passed) => (passed.headers = withoutHeader(passed.headers, HEADER)))
  expect(faultsOf(await receiver.doctor({ url: stripped }))).toContain('header_missing')
  const twice = await proxying(url, (passed) => {
    passed.headers = withHeader(passed.headers, HEADER, (value) => [value, value])
  })
  expect(textOf(await receiver.doctor({ url: twice }), 'header_changed')).toContain('it was sent twice')
  // From outside, only the failure of every proof is known.
  expect(faultsOf(await askDoctor(stripped, SECRET_ALONE))).toEqual(['pair_wrong'])
})

test.each([
  ['express.json()', 'either', express.json({ limit: '1mb' })],
  ['a parser for every type, where a signature is asked for', 'signature', express.json({ type: () => true })],
] as const)('%s before the receiver', async (_, proof, parser) => {
  const { receiver } = await app(proof)
  const url = await serving(express().use(parser, receiver.middleware('status')))
  expect(faultsOf(await receiver.doctor({ url }))).toEqual(['parsed_before'])
  expect(faultsOf(await askDoctor(url))).toEqual([proof === 'either' ? 'parsed_before' : 'pair_wrong'])
})

test('a limit on bodies in front of the receiver, with the sizes on both sides of it', async () => {
  const { url } = await app()
  const front = await proxying(url, () => {}, 100_000)
  const diagnosis = await askDoctor(front)
  expect(faultsOf(diagnosis)).toEqual(['body_limit'])
  expect(textOf(diagnosis, 'body_limit')).toContain('A body of 129024 bytes was answered 413; one of 64512 got through')
})

test('a limit that refuses the smallest probe, in front and in the receiver itself', async () => {
  const { url } = await app()
  const front = await proxying(url, () => {}, 100)
  expect(faultsOf(await askDoctor(front))).toEqual(['body_limit'])
  const { receiver } = await receiving({ maxBodyBytes: 100 })
  expect(faultsOf(await askDoctor(await serving(receiver.middleware('status'))))).toEqual(['body_limit'])
})

test.each([
  ['compresses', gzipSync],
  ['only says that it compresses', (body: Buffer) => body],
])('a proxy that %s: the probe is not an event, and the finding names the header', async (_, change) => {
  const { receiver, url } = await app()
  const handled: string[] = []
  receiver.onAny(({ type }) => void handled.push(type))
  const front = await proxying(url, (passed) => {
    passed.body = change(passed.body)
    passed.headers.push('Content-Encoding', 'gzip')
  })
  expect(faultsOf(await askDoctor(front))).toEqual(['body_compressed'])
  await receiver.drain()
  expect(handled).toEqual([])
})

test('a proxy that cuts bodies', async () => {
  const { receiver } = await app()
  const middleware = receiver.middleware('status')
  const url = await serving((request, response) => {
    request.headers['content-length'] = '100000'
    middleware(request, response)
  })
  expect(faultsOf(await askDoctor(url))).toEqual(['body_lost'])
})

test('middleware that changes the method of a POST', async () => {
  const { receiver } = await app()
  const middleware = receiver.middleware('status')
  const url = await serving((request, response) => {
    request.method = 'PUT'
    middleware(request, response)
  })
  expect(faultsOf(await askDoctor(url))).toEqual(['method_refused'])
})
