import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { startProgram } from '../support/program.ts'
import { AUTH_KEY, post, SIGNING_SECRET } from '../support/receiving.ts'

test('the quickstart accepts callbacks on PORT with the credentials of its environment', async () => {
  const port = String(await freePort())
  const { child, ended } = startProgram(process.execPath, ['examples/quickstart.ts'], {
    env: { AUTH_KEY, SIGNING_SECRET, PORT: port },
  })
  onTestFinished(() => void child.kill())
  const url = `http://127.0.0.1:${port}/webhooks/status`

  const delivered = callback.smsDelivery({ messageId: 'm-1' })
  const answer = await vi.waitFor(() => post(url, delivered), { timeout: 30_000, interval: 100 })
  expect(answer.status).toBe(204)
  expect((await post(url, callback.smsDelivery({ messageId: 'm-2', status: 'network_failure' }))).status).toBe(204)
  expect((await post(url, callback.smsDelivery({ messageId: 'm-3', status: 'unknown_error' }))).status).toBe(204)
  expect((await post(url, delivered)).status).toBe(204)
  const forged = await fetch(url, { method: 'POST', body: JSON.stringify({ ...delivered, authKey: 'a-guess' }) })
  expect(forged.status).toBe(401)
  child.kill()

  const { stdout, stderr } = await ended
  expect(stdout.trim().split('\n')).toEqual([
    `Listening on port ${port}`,
    'm-1 was delivered',
    'm-2 failed, resend: true',
    'm-3 failed, resend: false',
  ])
  expect(stderr).toContain('The `authKey` matches none of the live keys.')
})

test('the quickstart without its credentials says what is missing', async () => {
  const env = { AUTH_KEY: '', SIGNING_SECRET }
  const { code, stderr } = await startProgram(process.execPath, ['examples/quickstart.ts'], { env }).ended
  expect(code).toBe(1)
  expect(stderr).toContain('authKey is empty; expected a non-empty string (is the environment variable set?)')
})
