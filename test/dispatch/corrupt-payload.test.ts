import { expect, test } from 'vitest'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'

test('a key masked in the middle of an escape corrupts the readable payload, and costs no event', async () => {
  // The text has a line end followed by the key without its first letter, so the bytes contain the key.
  const authKey = `n${AUTH_KEY}`
  const credentials = { authKey, signingSecret: 'signing-secret-of-the-tests' }
  const { receiver, url } = await receiving({ credentials }, { kind: 'status' })
  const seen: unknown[] = []
  receiver.on('unrecognized', ({ problem, payload }) => void seen.push({ problem, payload }))
  const body = `{"messageId":"m","channel":"sms","status":"success","note":"\\${authKey}","timestamp":1700000000}`
  expect(await post(url, body)).toMatchObject({ status: 204 })
  expect(await receiver.drain()).toBe(true)
  expect(seen).toEqual([{ problem: 'not_json', payload: undefined }])
})
