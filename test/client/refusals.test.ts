/** Every error envelope, from the emulator and written by hand. Contract, service.md#send-failures, #authentication-errors. */
import type { Message } from 'messaging-webhooks/client'
import { describe, expect, test } from 'vitest'
import { emulating } from '../emulator/emulating.ts'
import { answering, clientOf, DELIVERED, failing, UNSUPPORTED } from './answering.ts'

const HELLO: Message = { to: DELIVERED, message: 'Hello' }
const NO_CREDITS = 'Error. Insufficient balance. Top up and try again.'

/** The seven of the contract's table, then that of a request without a key. */
const BY_HAND = [
  ['messageData.message', { messageData: { message: 'Error. No.' } }, 'refused'],
  ['error', { error: 'Error. No.' }, 'refused'],
  ['MessageData.Error', { MessageData: { Error: 'Error. No.' } }, 'refused'],
  ['message, errors', { message: 'Error. No.', errors: { to: ['Bad.'], from: 'Odd.' } }, 'invalid'],
  ['status, description', { status: 'failed', description: 'Error. No.' }, 'refused'],
  ['data.message', { data: { message: 'Error. No.' } }, 'refused'],
  ['status, errorMessage', { status: 'failed', errorMessage: 'Error. No.' }, 'refused'],
  ['message', { message: 'Error. No.' }, 'refused'],
] as const

describe.each([200, 400, 422])('written by hand, with status %d', (status) => {
  test.each(BY_HAND)('%s', async (envelope, body, code) => {
    const { url } = await answering(() => ({ status, body }))
    const error = await failing(clientOf(url).send(HELLO))
    expect(error).toMatchObject({ code, envelope, status, mayBeSent: false, attempts: 1, recipients: 1 })
    expect(error.said).toBe('Error. No.')
    expect(error.errors).toEqual(code === 'invalid' ? { to: ['Bad.'], from: ['Odd.'] } : undefined)
    expect(error.message).not.toContain('Error. No.')
  })
})

test('an envelope with a server error may have been sent', async () => {
  const { url } = await answering(() => ({ status: 500, body: { error: 'Oops.' } }))
  expect(await failing(clientOf(url).send(HELLO))).toMatchObject({ code: 'refused', status: 500, mayBeSent: true })
})

test.each([
  [{ status: 'success', description: 'Queued.' }, 200, true],
  [{ message: 'OK' }, 202, true],
  [{ status: 'success', description: 'Queued.' }, 400, false],
  [{ status: 'failed', description: 'Error. No.' }, 200, false],
])('an answer that may not be a refusal may have been sent: %j with status %d', async (body, status, mayBeSent) => {
  const { url } = await answering(() => ({ status, body }))
  expect(await failing(clientOf(url).send(HELLO))).toMatchObject({ code: 'refused', status, mayBeSent })
})

test.each([
  ['its text', { messageData: { message: NO_CREDITS } }, 'insufficient_balance'],
  ['its text, elsewhere', { status: 'failed', description: NO_CREDITS }, 'insufficient_balance'],
  ['its code', { messageData: { message: 'No.', statusCode: '22' } }, 'insufficient_balance'],
  ['its word', { status: 'volume_limit', description: 'No.' }, 'volume_limit'],
  ['its code as a number', { statusCode: 23, error: 'No.' }, 'volume_limit'],
] as const)('recognises balance and volume limit by %s', async (_, body, code) => {
  const { url } = await answering(() => ({ status: 400, body }))
  expect(await failing(clientOf(url).send(HELLO))).toMatchObject({ code, mayBeSent: false })
})

test('by SMS the error has the code of each recipient; an unknown project and a wrong or missing key have codes', async () => {
  const { endpoint, emulator } = await emulating({ balance: 0 })
  const client = clientOf(endpoint)
  const empty = await failing(client.send({ ...HELLO, to: [DELIVERED, '999200000000'] }))
  const answer = { recipients: [{ code: 22 }, { code: 22 }] }
  expect(empty).toMatchObject({ code: 'insufficient_balance', said: NO_CREDITS, answer })
  emulator.configure({ balance: 10 })
  const mixed = await failing(client.send({ ...HELLO, to: [UNSUPPORTED, '999400000023'] }))
  const codes = { recipients: [{ code: 12 }, { code: 23 }] }
  expect(mixed).toMatchObject({ code: 'refused', mayBeSent: false, answer: codes })
  const unknown = await failing(clientOf(endpoint, { project: 'my shop' }).send(HELLO))
  expect(unknown).toMatchObject({ code: 'project_not_found', status: 404 })
  const stranger = await failing(clientOf(endpoint, { apiKey: 'another-key' }).send(HELLO))
  expect(stranger).toMatchObject({ code: 'unknown_project', status: 400 })
  const headers = { 'content-type': 'application/json' }
  const without = clientOf(endpoint, { fetch: (url, init) => fetch(url, { ...init, headers }) })
  expect(await failing(without.send(HELLO))).toMatchObject({ code: 'unauthenticated', status: 401 })
})
