/** `emulate` as a process: it prints its address, its keys, and a line for each activity. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { receiving, AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'
import { jsonLines, POLL, startListening } from './cli.ts'
import { ownFolder } from '../support/own-folder.ts'

async function send(url: string, apiKey: string, fields: object = {}): Promise<Response> {
  return fetch(`${url}/api/v1/messaging`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      project: 'My Shop',
      from: 'SHOP',
      to: '254700000001',
      message: 'Hello',
      channel: 'sms',
      ...fields,
    }),
  })
}

describe('emulate', { timeout: 120_000 }, () => {
  test('prints its address and keys, a line for each send and callback, and a report at the end', async () => {
    const args = ['emulate', '--callbacks', 'http://127.0.0.1:9/hooks/', '--seed', 'mine']
    const { url, printed, child, ended } = await startListening(args)
    await expect.poll(() => printed.stdout, POLL).toContain('Press Ctrl+C to stop.')
    expect(printed.stdout).toContain(
      `The service is at ${url}/api/v1/messaging, its control API at ${url}/control\ncontrol token  `,
    )
    expect(printed.stdout).toMatch(/^seed +mine\nMy Shop$/m)
    expect(printed.stdout).toMatch(/^ {2}status to +http:\/\/127\.0\.0\.1:9\/hooks\/status$/m)
    const [apiKey = '', authKey = '', signingSecret = ''] = ['apiKey', 'authKey', 'signingSecret'].map(
      (name) => new RegExp(`^  ${name} +(\\S+)$`, 'm').exec(printed.stdout)?.[1],
    )
    expect(new Set([apiKey, authKey, signingSecret]).size).toBe(3)
    expect((await send(url, apiKey, { to: ['254700000001', '254700000002'], message: 'hidden\u001b[2J' })).status).toBe(
      200,
    )
    expect((await send(url, 'wrong')).status).toBe(400)
    await expect.poll(() => printed.stdout, POLL).toMatch(/^[\d:.]{12} {2}callback {2}no answer {2}status \S+ \S+ {2}/m)
    expect(printed.stdout).toMatch(
      /^[\d:.]{12} {2}send {6}POST 200 {2}sms {2}2 accepted {2}\S+ to 254700000001 {2}My Shop$/m,
    )
    expect(printed.stdout).toMatch(/^[\d:.]{12} {2}send {6}POST 400 .* Error\. Unknown project\./m)
    child.kill('SIGINT')
    const { code, stdout, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Total\n {2}sends +2 \(200: 1, 400: 1\)\n/m)
    expect(stdout).not.toContain('hidden')
  })

  test('reads a configuration: does not repeat its keys, and a receiver gets its callbacks', async () => {
    const { url: hook, receiver } = await receiving()
    const path = join(ownFolder(), 'emulator.json')
    const urlWithPassword = hook.replace('//', '//user:hidden@')
    const project = { name: 'My Shop', apiKey: 'given-api-key', authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
    const callbackUrls = { status: hook, payment: urlWithPassword }
    writeFileSync(path, JSON.stringify({ projects: [{ ...project, callbackUrls }, { name: 'Another' }], seed: 3 }))
    const { url, printed, child, ended } = await startListening(['emulate', '--config', path, '--json'])
    await send(url, 'given-api-key', { to: '254700000001' })
    await expect.poll(async () => (await receiver.stats()).accepted, POLL).toBeGreaterThan(0)
    await expect.poll(() => printed.stdout, POLL).toContain('"type":"delivery"')
    child.kill('SIGTERM')
    const { code, stdout } = await ended
    expect(code).toBe(0)
    const lines = jsonLines(stdout)
    expect(lines[0]).toMatchObject({
      type: 'listening',
      url,
      projects: [{ name: 'My Shop', keys: {} }, { name: 'Another' }],
    })
    expect(lines.slice(1).map(({ type }) => type)).toEqual(expect.arrayContaining(['send', 'delivery', 'report']))
    expect(lines.find(({ type }) => type === 'delivery')).toMatchObject({ delivery: { status: 204 } })
    for (const secret of ['given-api-key', AUTH_KEY, SIGNING_SECRET, 'hidden']) expect(stdout).not.toContain(secret)
  })

  test('the faults that a flag names override those of the file', async () => {
    const path = join(ownFolder(), 'emulator.json')
    writeFileSync(
      path,
      JSON.stringify({ projects: [{ name: 'My Shop', apiKey: 'given-api-key' }], sendFaults: { noAnswer: 1 } }),
    )
    const args = ['emulate', '--config', path, '--send-fault', 'badGateway']
    const { url, printed } = await startListening(args)
    expect((await send(url, 'given-api-key')).status).toBe(502)
    await expect.poll(() => printed.stdout, POLL).toContain('POST 502  sms  1 accepted  ')
    expect(printed.stdout).toMatch(/ to 254700000001 {2}badGateway {2}My Shop$/m)
  })

  test('prints the log of one-time passwords if asked, without their texts', async () => {
    const run = async (...flags: readonly string[]) => {
      const args = ['emulate', '--seed', 'of the log', ...flags]
      const { url, printed, child, ended } = await startListening(args)
      await expect.poll(() => printed.stdout, POLL).toContain('Press Ctrl+C to stop.')
      const apiKey = /^ {2}apiKey +(\S+)$/m.exec(printed.stdout)?.[1] ?? ''
      await send(url, apiKey, { to: '999100000000', message: 'code 123456', type: 'transactional' })
      const log = async (): Promise<unknown> => (await fetch(`${url}/control/otp-log`)).json()
      await expect.poll(log, POLL).toMatchObject({ items: [{ deliveryState: 'success' }] })
      child.kill('SIGINT')
      return (await ended).stdout
    }
    const printed = await run('--otp-log')
    expect(printed).toMatch(/^[\d:.]{12} {2}otp {7}accepted {2}SHOP to 999100000000 {2}[0-9a-f-]{36}$/m)
    expect(printed).toMatch(/^[\d:.]{12} {2}otp {7}success {2}SHOP to 999100000000 {2}[0-9a-f-]{36}$/m)
    expect(printed).not.toContain('123456')
    expect(await run()).not.toMatch(/ otp /)
  })

  test('prints a token for the control API, unless one was given', async () => {
    const change = (url: string, token: string) =>
      fetch(`${url}/control/trigger`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"event":"payment"}',
      })
    const { url, printed } = await startListening(['emulate'])
    const shown = () => /^control token +([0-9a-f]{40})$/m.exec(printed.stdout)?.[1]
    await expect.poll(shown, POLL).toBeDefined()
    expect((await change(url, shown() ?? '')).status).toBe(200)
    expect((await change(url, 'wrong')).status).toBe(401)
    const given = await startListening(['emulate', '--json'], { CONTROL_TOKEN: 'token-of-the-user' })
    expect((await change(given.url, 'token-of-the-user')).status).toBe(200)
    expect(given.printed.stdout).not.toContain('token-of-the-user')
  })
})
