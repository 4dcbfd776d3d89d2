/** `listen` as a process: it prints events, explains refusals, and escapes terminal control sequences. */
import { callback, callbackFor, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { AUTH_KEY, jsonLines, KEYS, POLL, runCli, SIGNING_SECRET, startListening } from './cli.ts'

/** Controls of C0 and C1, DEL, and characters that change how a line is shown. */
const UNSAFE = /[^\P{C}\n]|[\u2028\u2029]/u

async function post(url: string, body: object | string, secret = SIGNING_SECRET): Promise<number> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { 'x-service-signature': signCallback(text, secret) }
  const response = await fetch(url, { method: 'POST', headers, body: text })
  await response.arrayBuffer()
  return response.status
}

describe('listen', { timeout: 120_000 }, () => {
  test('prints one line an event, explains a refusal, and ends at a signal', async () => {
    const { url, printed, child, ended } = await startListening(['listen'], KEYS)
    expect(await post(`${url}/status`, callback.smsDelivery({ messageId: 'm-1', status: 'network_failure' }))).toBe(204)
    expect(await post(`${url}/payment?a=b`, callback.payment({ id: 'p-1' }))).toBe(204)
    expect(await post(url, callback.smsDelivery({ messageId: 'm-2', authKey: AUTH_KEY }))).toBe(204)
    expect(await post(`${url}/status`, callback.smsDelivery(), 'another secret')).toBe(401)
    const failed =
      / message\.failed +m-1 {2}carrier-a {2}network_failure {2}transient, send again {2}\[My Shop\] {2}proved by signature(?: {2}arrived at .*)?$/m
    await expect.poll(() => printed.stdout, POLL).toMatch(failed)
    await expect.poll(() => printed.stdout, POLL).toContain('  refused 401 ')
    for (const part of [' p-1 ', ' m-2 ']) await expect.poll(() => printed.stdout, POLL).toContain(part)
    const lines = printed.stdout.split('\n')
    expect(lines[0]).toBe(`Listening on ${url} for POSTs to / and /status, /received, /payment, /subscription`)
    expect(printed.stdout).toMatch(/ payment +p-1 {2}100 {2}KES {2}completed {2}\[My Shop\] {2}proved by signature$/m)
    expect(printed.stdout).toMatch(/ message\.delivered {2}m-2 .* proved by signature and authKey$/m)
    expect(printed.stdout).toContain(
      '  refused 401        signature_mismatch: The signature matches none of the live secrets.',
    )
    child.kill('SIGTERM')
    const { code, stdout, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const secret of [AUTH_KEY, SIGNING_SECRET]) expect(stdout).not.toContain(secret)
  })

  test('marks repetitions and events held back for an earlier report; its times never decrease', async () => {
    const { url, printed } = await startListening(['listen'], KEYS)
    const report = (status: string): object => callback.chatApp({ statuses: { message_id: 'c-1', status } })
    // `read` waits in vain for the report before it; later events are printed first.
    for (const status of ['sent', 'read', 'sent']) expect(await post(`${url}/status`, report(status))).toBe(204)
    expect(await post(`${url}/status`, callback.smsDelivery({ messageId: 'm-1' }))).toBe(204)
    expect(await post(`${url}/status`, report('sent'), 'another secret')).toBe(401)
    await expect.poll(() => printed.stdout, POLL).toContain(' message.read ')
    await expect.poll(() => printed.stdout, POLL).toContain(' m-1 ')
    const lines = printed.stdout.split('\n').filter((line) => /^\d/.test(line))
    expect(lines.map((line) => line.split(/ {2,}/)[1]).sort()).toEqual(
      ['duplicate', 'message.delivered', 'message.read', 'message.sent', 'refused 401'].sort(),
    )
    expect(printed.stdout).toMatch(/ duplicate {10}c-1$/m)
    expect(printed.stdout).toMatch(/ message\.read .* arrived at \d\d:\d\d:\d\d\.\d{3}, held until now$/m)
    const times = lines.map((line) => line.slice(0, 12))
    expect(times).toEqual([...times].sort())
  })

  test('prints events, refusals and its address as JSON', async () => {
    const { url, printed, child, ended } = await startListening(['listen', '--json', '--proof', 'signature'], KEYS)
    await post(`${url}/subscription`, callbackFor('subscription.consent', { phone: '1', authKey: AUTH_KEY }))
    await fetch(`${url}/status`, {
      method: 'POST',
      body: JSON.stringify({ ...callback.smsDelivery(), authKey: AUTH_KEY }),
    })
    await expect.poll(() => jsonLines(printed.stdout).length, POLL).toBe(3)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    expect(code).toBe(0)
    expect(jsonLines(stdout)).toMatchObject([
      { type: 'listening', url },
      { type: 'subscription.consent', proof: 'both', project: 'My Shop', data: { phone: '1' } },
      { type: 'refused', status: 401, code: 'signature_required' },
    ])
    expect(stdout).not.toContain(AUTH_KEY)
  })

  test('escapes control sequences in received text; --payload shows the payload; one key is enough', async () => {
    const { url, printed } = await startListening(['listen', '--payload'], { AUTH_KEY })
    const messageId = 'm\u001b]0;mine\u0007\u009b31m\u202e'
    expect(await post(`${url}/status`, callback.smsDelivery({ messageId, authKey: AUTH_KEY }))).toBe(204)
    await expect.poll(() => printed.stdout, POLL).toContain('"messageId"')
    const shown = 'm\\u001b]0;mine\\u0007\\u009b31m\\u202e'
    expect(printed.stdout).toContain(`message.delivered  ${shown}  `)
    expect(printed.stdout).not.toMatch(UNSAFE)
    expect(printed.stdout).not.toContain(AUTH_KEY)
  })

  test('escapes them in JSON, too, which is the same JSON to a program', async () => {
    const { url, printed } = await startListening(['listen', '--json'], KEYS)
    const text = '\u001b[2J\u009b31m\u007f\u202eevil\u2066\u2028\ufeff\u{e0041} \ud800 \\u009b "café" 😀'
    expect(await post(`${url}/received`, callback.received({ text }))).toBe(204)
    await expect.poll(() => jsonLines(printed.stdout)[1], POLL).toMatchObject({ type: 'received', data: { text } })
    expect(printed.stdout).not.toMatch(UNSAFE)
    expect(printed.stdout).toContain('café')
  })

  test('answers 404 to an unknown path, and names it', async () => {
    const { url, printed } = await startListening(['listen'], KEYS)
    const body = callback.smsDelivery({ messageId: 'm-1' })
    for (const path of ['/statsu', '/status/x', '/webhooks/status?token=hidden'])
      expect(await post(`${url}${path}`, body)).toBe(404)
    for (const path of ['/status/', '/?a=b', '//']) expect(await post(`${url}${path}`, body)).toBe(204)
    await expect.poll(() => printed.stdout, POLL).toContain(' m-1 ')
    const unknown = '  no such path       /statsu: the paths are /, /status, /received, /payment, /subscription'
    await expect.poll(() => printed.stdout, POLL).toContain(unknown)
    expect(printed.stdout).not.toContain('hidden')
    const json = await startListening(['listen', '--json'], KEYS)
    expect(await post(`${json.url}/statsu`, body)).toBe(404)
    await expect.poll(() => jsonLines(json.printed.stdout)[1], POLL).toEqual({ type: 'unknown_path', path: '/statsu' })
  })

  test('a port in use is one line and a hint', async () => {
    const { url } = await startListening(['listen'], KEYS)
    const { port } = new URL(url)
    expect(await runCli(['listen', '--port', port], KEYS)).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: Cannot listen on port ${port} (EADDRINUSE).\nAnother process uses it. Stop that process, or pass --port 0 to pick a free port.\n`,
    })
  })
})
