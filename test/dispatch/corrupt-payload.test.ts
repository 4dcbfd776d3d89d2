import { expect, test } from 'vitest'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'

test('a key that is masked in the middle of an escape corrupts what can be read, and costs no event', async () => {
  // The text holds a line end and then the key without its first letter, so that the key stands in the bytes.
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
