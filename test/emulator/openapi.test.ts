/** `openapi.json` describes every answer and every callback of the emulator, also its answers to generated requests. */
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { createEmulator, OUTCOMES, TRIGGER_NAMES } from 'messaging-webhooks/emulator'
import { z } from 'zod'
import { describe, expect, test } from 'vitest'
import { serve } from '../support/receiving.ts'
import { API_KEY, call, collecting, emulating, postJson, sendFrom, SHOP, type Answered } from './emulating.ts'

const DOCUMENT: unknown = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('messaging-webhooks/openapi.json'), 'utf8'),
)
const ref = z.object({ $ref: z.string() })
const responses = z.object({ responses: z.record(z.string(), ref) })
const field = z.object({ pattern: z.string().optional(), examples: z.array(z.string()).default([]) })
const { paths, components } = z
  .object({
    paths: z.object({ '/v1/messaging': z.object({ post: responses, get: responses }) }),
    components: z.object({
      schemas: z.object({
        SendRequest: z.object({ required: z.array(z.string()), properties: z.record(z.string(), field) }),
      }),
    }),
  })
  .parse(DOCUMENT)

// Not strict: the document has keywords of OpenAPI.
const ajv = new Ajv2020({ strict: false })
ajv.addSchema(z.record(z.string(), z.unknown()).parse(DOCUMENT), 'openapi.json')

/** What the schema at this pointer finds wrong. */
function errorsOf(value: unknown, pointer: string): readonly unknown[] {
  const $ref = `openapi.json${pointer}`
  const validate = ajv.getSchema($ref) ?? ajv.compile({ $ref })
  return validate(value) === true ? [] : (validate.errors ?? ['invalid'])
}

const CONTENT = '/content/application~1json/schema'

function errorsOfAnswer({ status, body }: Answered, method: 'post' | 'get' = 'post'): readonly unknown[] {
  const described = paths['/v1/messaging'][method].responses
  const found = described[status] ?? described[`${String(status)[0] ?? ''}XX`] ?? described['default']
  return errorsOf(body, `${found?.$ref ?? '#/missing'}${CONTENT}`)
}

/** Of the four callbacks, by the kind of their URL. */
const WEBHOOKS = {
  status: 'messageStatus',
  received: 'receivedMessage',
  payment: 'payment',
  subscription: 'subscription',
} as const

function errorsOfCallback(kind: keyof typeof WEBHOOKS, body: unknown): readonly unknown[] {
  return errorsOf(body, `#/webhooks/${WEBHOOKS[kind]}/post/requestBody${CONTENT}`)
}

const DELIVERED = '999100000000'
const CHANNELS = ['sms', 'chat-app', 'premium', 'premium-subscription', 'airtime']

test('the emulator serves the document, and its middleware leaves the path to the application', async () => {
  const { url } = await emulating()
  expect(await call(`${url}/openapi.json`)).toEqual({ status: 200, body: DOCUMENT })
  expect((await call(`${url}/openapi.json`, { method: 'POST' })).status).toBe(405)
  const { app } = createEmulator()
  expect((await call(`${await serve(app)}openapi.json`)).status).toBe(404)
})

describe.each(CHANNELS)('an answer on the channel %s', (channel) => {
  const fields = { to: DELIVERED, channel, amount: 5 }

  test.each([
    ['accepted', {}, {}, 200],
    ['with an unsupported number', {}, { to: '12' }, 400],
    ['without credits', { balance: 0 }, {}, 400],
    ['beyond the volume limit', { volumeLimit: 0 }, {}, 400],
    ['with an invalid field', {}, { to: '' }, 400],
    ['with another key', {}, { apiKey: 'wrong' }, 400],
    ['without a key', {}, { apiKey: undefined }, 401],
    ['of an unknown project', {}, { project: 'No Shop' }, 404],
    ['too large', {}, { message: 'x'.repeat(1_100_000) }, 413],
  ])('to a send, %s', async (_, shop, given, status) => {
    const { endpoint } = await emulating(shop)
    const answer = await sendFrom(endpoint, { ...fields, ...given })
    expect(answer.status).toBe(status)
    expect(errorsOfAnswer(answer)).toEqual([])
    expect(errorsOfAnswer({ ...answer, body: { other: 'envelope' } })).not.toEqual([])
  })
})

test('answers and callbacks of every documented number, and of every trigger', async () => {
  const { collected, callbackUrls } = await collecting()
  const { endpoint, emulator, idle } = await emulating({ callbackUrls })
  for (const channel of CHANNELS) {
    const to = OUTCOMES.filter(({ channels }) => channels.some((name) => name === channel)).map(({ number }) => number)
    // On the other channels, one unsupported number refuses all.
    const answer = await sendFrom(endpoint, { to, channel, amount: 1 })
    expect(answer.status, channel).toBe(200)
    expect(errorsOfAnswer(answer), channel).toEqual([])
    expect(
      errorsOfAnswer({ ...answer, body: { ...z.looseObject({}).parse(answer.body), recipients: [{}] } }),
    ).not.toEqual([])
  }
  for (const name of TRIGGER_NAMES) await emulator.trigger(name)
  await idle()
  const kinds = new Set<string>()
  for (const { path, body, signature } of collected) {
    const kind = z.enum(['status', 'received', 'payment', 'subscription']).parse(path.slice(1))
    kinds.add(kind)
    expect(errorsOfCallback(kind, body), path).toEqual([])
    expect(errorsOf(signature, '#/components/parameters/Signature/schema')).toEqual([])
    if (kind === 'status')
      for (const removed of ['project', 'channel', 'messageId', 'statuses'])
        if (Object.hasOwn(body, removed))
          expect(errorsOfCallback(kind, { ...body, [removed]: undefined }), removed).not.toEqual([])
    expect(errorsOfCallback(kind, { ...body, authKey: 1 }), path).not.toEqual([])
  }
  expect([...kinds].sort()).toEqual(Object.keys(WEBHOOKS).sort())
})

test.each(['authKey', 'signature'] as const)('callbacks with no proof but the %s', async (proof) => {
  const { collected, callbackUrls } = await collecting()
  const { endpoint, emulator, idle } = await emulating({ callbackUrls }, { proof })
  await sendFrom(endpoint, { to: DELIVERED })
  await emulator.trigger('payment')
  await idle()
  expect(collected).toHaveLength(2)
  for (const { path, body } of collected)
    expect(errorsOfCallback(path === '/status' ? 'status' : 'payment', body), path).toEqual([])
})

/** A send as the document describes it: its documented fields, or others. */
const sends = fc
  .record(
    Object.fromEntries(
      Object.entries(components.schemas.SendRequest.properties).map(([name, { pattern, examples }]) => {
        const any = pattern === undefined ? fc.string({ unit: 'grapheme' }) : fc.stringMatching(new RegExp(pattern))
        return [
          name,
          examples.length === 0 ? any : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...examples) }, any),
        ]
      }),
    ),
    { requiredKeys: components.schemas.SendRequest.required },
  )
  .chain((known) => fc.dictionary(fc.string(), fc.jsonValue()).map((others) => ({ ...others, ...known })))

const FORMS = {
  json: (endpoint: string, fields: object, headers: Record<string, string>) => postJson(endpoint, fields, headers),
  form: (endpoint: string, fields: object, headers: Record<string, string>) =>
    call(endpoint, { method: 'POST', body: parametersOf(fields), headers }),
  query: (endpoint: string, fields: object, headers: Record<string, string>) =>
    call(`${endpoint}?${parametersOf(fields).toString()}`, { headers }),
}

function parametersOf(fields: object): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    parameters.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  return parameters
}

test('answers to generated sends in each form, with the key in each place', async () => {
  const { endpoint } = await emulating()
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      sends,
      fc.constantFrom('json', 'form', 'query'),
      fc.constantFrom('a header', 'a field', 'as generated'),
      async (generated, form, place) => {
        expect(errorsOf(generated, '#/components/schemas/SendRequest')).toEqual([])
        const fields = place === 'a field' ? { ...generated, apiKey: API_KEY } : generated
        const headers: Record<string, string> = place === 'a header' ? { authorization: `Bearer ${API_KEY}` } : {}
        const answer = await FORMS[form](endpoint, fields, headers)
        expect(errorsOfAnswer(answer, form === 'query' ? 'get' : 'post')).toEqual([])
        seen.add(`${form} ${answer.status}`)
      },
    ),
    { numRuns: 300, seed: 1 },
  )
  const forms = Object.keys(FORMS)
  expect([...seen].sort()).toEqual(
    forms.flatMap((form) => [200, 400, 401, 404].map((status) => `${form} ${status}`)).sort(),
  )
  expect(components.schemas.SendRequest.properties['project']?.examples).toContain(SHOP)
})
