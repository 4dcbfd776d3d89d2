/** Keys and secrets in a form that the dashboard does not show: warnings at the start, and hints beside a refusal. */
import { createReceiver, type CredentialPair } from 'messaging-webhooks'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { logging } from '../support/logging.ts'
import { A, B, send } from '../support/pairs.ts'
import { receiving, type SomeOptions } from '../support/receiving.ts'

const { authKey, signingSecret } = A

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** The lines of a start with this pair. */
function mistakesSaid(credentials: CredentialPair): readonly string[] {
  const { logger, of } = logging()
  createReceiver({ credentials, logger })
  return of('secret_mistaken').map(({ text }) => text)
}

describe('at the start', () => {
  test.each<[string, CredentialPair, string]>([
    ['white space', { ...A, authKey: ` ${authKey}` }, 'has white space at its start or end'],
    ['quotation marks', { ...A, signingSecret: `"${signingSecret}"` }, 'is in quotation marks'],
    ['single ones', { ...A, signingSecret: `'${signingSecret}'` }, 'is in quotation marks'],
    ['typographic ones', { ...A, signingSecret: `“${signingSecret}”` }, 'is in quotation marks'],
    [
      'a spelled-out line end',
      { ...A, signingSecret: `${signingSecret}\\n` },
      'ends with a line end that is spelled out',
    ],
    ['undefined', { ...A, signingSecret: 'undefined' }, 'is the text of a missing value'],
    ['an object', { ...A, authKey: '[object Promise]' }, 'is the text of a missing value'],
    ['equal halves', { authKey, signingSecret: authKey }, 'The Auth Key and the signing secret of a pair are equal'],
  ])('%s: one warning that quotes no secret', (_form, pair, mistake) => {
    const said = mistakesSaid(pair)
    expect(said).toEqual([expect.stringContaining(mistake)])
    for (const secret of [authKey, signingSecret]) expect(said.join()).not.toContain(secret)
  })

  test('several mistakes: one warning each', () => {
    const said = mistakesSaid({ authKey: `"${authKey}"`, signingSecret: `"${signingSecret}\\r\\n" ` })
    expect(said.map((text) => /(white space|quotation marks|spelled out)/.exec(text)?.[0])).toEqual([
      'quotation marks',
      'white space',
      'spelled out',
    ])
  })

  test('the usual forms: no warning', () => {
    expect(mistakesSaid(A)).toEqual([])
    expect(mistakesSaid({ authKey: base64(authKey), signingSecret: 'f00dfeed'.repeat(8) })).toEqual([])
    expect(mistakesSaid({ authKey: "it's", signingSecret: 'null-and-void' })).toEqual([])
  })
})

/** The errors of one callback that the service signs with `A`, at a receiver with this pair. */
async function errorsWith(credentials: CredentialPair) {
  const { url, errors } = await receiving({ credentials })
  const status = await send(url, A)
  return { status, errors }
}

const IN_QUOTES = 'is in quotation marks. Corrected, it'

describe('a refusal', () => {
  test.each<[string, CredentialPair, string]>([
    ['quotation marks', { signingSecret: `"${signingSecret}"` }, `Your signing secret ${IN_QUOTES} verifies this`],
    ['quotation marks of the key', { authKey: `"${authKey}"` }, `Your Auth Key ${IN_QUOTES} is the one in the body`],
    ['a spelled-out line end', { signingSecret: `${signingSecret}\\n` }, 'ends with a line end that is spelled out'],
    ['Base64', { signingSecret: base64(signingSecret) }, 'is in Base64. Corrected, it verifies'],
    ['Base64 of a line', { signingSecret: base64(`${signingSecret}\n`) }, 'is in Base64. Corrected, it verifies'],
    ['Base64 of the key', { authKey: base64(authKey) }, 'Your Auth Key is in Base64'],
    ['Base64 in quotation marks', { authKey: `"${base64(authKey)}"` }, 'is in quotation marks, and is in Base64'],
    ['the key as the secret', { signingSecret: authKey }, 'Your signing secret is an Auth Key: the body carries it.'],
    ['the secret as the key', { authKey: signingSecret }, 'Your Auth Key is a signing secret: it verifies'],
    ['swapped halves', { authKey: signingSecret, signingSecret: authKey }, 'Your signing secret is an Auth Key'],
  ])('%s: the hint says it, the answer stays 401', async (_form, pair, hint) => {
    const { status, errors } = await errorsWith(pair)
    expect(status).toBe(401)
    expect(errors).toMatchObject([{ name: 'RefusedError', detail: expect.stringContaining(hint) as string }])
    const said = errors.map(({ message }) => message).join()
    expect(said).toContain(hint)
    for (const secret of [authKey, signingSecret, base64(authKey), base64(signingSecret)])
      expect(said).not.toContain(secret)
  })

  test('another pair: no hint', async () => {
    const { errors } = await errorsWith(B)
    expect(errors).toMatchObject([{ code: 'signature_mismatch', detail: undefined }])
  })

  test('of one project says nothing of the mistakes of another', async () => {
    const clock = fakeClock()
    const projects = { 'My Shop': { signingSecret: `"${signingSecret}"` }, 'Other Shop': B }
    const { url, errors } = await receiving({ clock, projects })
    const timestamp = Math.floor(clock.now() / 1_000)
    expect(await send(url, A, { project: 'Other Shop' }, timestamp)).toBe(401)
    await clock.advance(100)
    expect(await send(url, A, { project: 'My Shop' }, timestamp)).toBe(401)
    expect(errors).toMatchObject([{ detail: undefined }, { detail: expect.stringContaining(IN_QUOTES) as string }])
  })
})

test('forged requests cause at most ten trials a second, and none over more than 8 KiB', async () => {
  const clock = fakeClock()
  const { url, errors } = await receiving({ clock, credentials: { signingSecret: `"${signingSecret}"` } })
  const timestamp = Math.floor(clock.now() / 1_000)
  const hinted = async (fields: object = {}): Promise<boolean> => {
    expect(await send(url, A, fields, timestamp)).toBe(401)
    return errors.at(-1)?.message.includes(IN_QUOTES) === true
  }
  expect([await hinted(), await hinted()]).toEqual([true, false])
  await clock.advance(99)
  expect(await hinted()).toBe(false)
  await clock.advance(1)
  expect(await hinted({ note: 'x'.repeat(8 * 1024) })).toBe(false)
  expect([await hinted(), await hinted()]).toEqual([true, false])
})

describe('a callback that its authKey proves', () => {
  test('with a signature under another form of the secret: the report says it', async () => {
    const { status, errors } = await errorsWith({ authKey, signingSecret: `"${signingSecret}"` })
    expect(status).toBe(204)
    expect(errors).toMatchObject([{ code: 'signature_ignored', detail: expect.stringContaining(IN_QUOTES) as string }])
  })

  test('without a signature: logged once, if a secret is configured and the policy accepts a signature', async () => {
    const { logger, of } = logging()
    const { receiver, url, errors } = await receiving({ logger, credentials: A })
    for (let time = 0; time < 3; time += 1) expect(await send(url, { authKey })).toBe(204)
    expect(of('signature_absent')).toMatchObject([{ level: 'warn' }])
    expect(errors).toEqual([])
    expect(receiver.quarantine.size).toBe(0)
  })

  test.each<[string, SomeOptions]>([
    ['proof: "authKey"', { credentials: A, proof: 'authKey' }],
    ['no secret', { credentials: { authKey } }],
  ])('without a signature, and %s: nothing is logged', async (_why, options) => {
    const { logger, of } = logging()
    const { url } = await receiving({ logger, ...options })
    expect(await send(url, { authKey })).toBe(204)
    expect(of('signature_absent')).toEqual([])
  })
})
