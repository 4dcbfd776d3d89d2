/** Contract, service.md#project, #webhook-security-pair, #authentication: keys, rotation, Enforce HTTPS. */
import { createHmac } from 'node:crypto'
import { createEmulator } from 'messaging-webhooks/emulator'
import { describe, expect, test } from 'vitest'
import { API_KEY, AUTH_KEY, collecting, emulating, sendFrom, SIGNING_SECRET } from './emulating.ts'
import type { Collected } from './emulating.ts'

/** Worked out apart from the package. */
function isSignedWith(secret: string, { text, signature = '' }: Collected): boolean {
  const t = /^t=(\d+),v1=[0-9a-f]{64}$/.exec(signature)?.[1] ?? ''
  return signature === `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${text}`).digest('hex')}`
}

describe('rotation', () => {
  test('takes effect with the next callback', async () => {
    const { collected, callbackUrls } = await collecting()
    const { emulator } = await emulating({ callbackUrls })
    await emulator.trigger('received')
    const given = emulator.rotateKeys({ authKey: 'second key', signingSecret: 'second secret' })
    expect(given).toEqual({ apiKey: API_KEY, authKey: 'second key', signingSecret: 'second secret' })
    await emulator.trigger('received')
    const made = emulator.rotateKeys()
    expect(made.authKey).toMatch(/^[0-9a-f]{40}$/)
    expect(made.signingSecret).toMatch(/^[0-9a-f]{40}$/)
    expect(made.signingSecret).not.toBe(made.authKey)
    await emulator.trigger('received')
    expect(collected.map(({ body }) => body['authKey'])).toEqual([AUTH_KEY, 'second key', made.authKey])
    const secrets = [SIGNING_SECRET, 'second secret', made.signingSecret]
    expect(collected.map((one, index) => isSignedWith(secrets[index] ?? '', one))).toEqual([true, true, true])
  })

  test('leaves the previous pair to the fault that uses old keys', async () => {
    const { collected, callbackUrls } = await collecting()
    const { emulator } = await emulating({ callbackUrls }, { faults: { oldKey: 1 } })
    emulator.rotateKeys()
    expect(await emulator.trigger('received')).toMatchObject([{ faults: ['oldKey'], intact: false }])
    expect(collected.map((one) => [one.body['authKey'], isSignedWith(SIGNING_SECRET, one)])).toEqual([[AUTH_KEY, true]])
    expect(emulator.report()).toMatchObject({
      callbacks: { wronglyAccepted: 1, lost: 0 },
      faults: { oldKey: { applied: 1, accepted: 1, refused: 0, unanswered: 0 } },
    })
  })
})

describe('callback URLs', () => {
  test('with enforceHttps on, nothing goes to plain http, and the failure is listed', async () => {
    const { collected, callbackUrls } = await collecting()
    const { emulator, endpoint, idle } = await emulating({ callbackUrls, enforceHttps: true })
    await sendFrom(endpoint, { to: '999100000000' })
    await idle()
    expect(collected).toEqual([])
    expect(emulator.report().callbacks).toMatchObject({ sent: 0, notSent: 1 })
    expect(emulator.report().failures).toMatchObject([
      { kind: 'status', sent: false, intact: false, error: 'enforceHttps is on and the callback URL is plain http' },
    ])
    emulator.configure({ enforceHttps: false })
    await emulator.trigger('payment')
    expect(collected).toHaveLength(1)
  })

  test('that are not configured get nothing, which is counted', async () => {
    const { callbackUrls, collected } = await collecting()
    const { emulator } = await emulating({ callbackUrls: { payment: callbackUrls.payment } })
    expect(await emulator.trigger('received')).toEqual([])
    expect(await emulator.trigger('payment')).toHaveLength(1)
    expect(collected.map(({ path }) => path)).toEqual(['/payment'])
    expect(emulator.report().callbacks).toMatchObject({ sent: 1, withoutUrl: 1 })
    emulator.configure({ callbackUrls })
    expect(await emulator.trigger('received')).toHaveLength(1)
  })
})

test('missing keys are random: no two runs share one, and the reported seed does not give them away', () => {
  const runs = [createEmulator(), createEmulator()]
  const again = createEmulator({ seed: runs[0]?.report().seed })
  const all = [...runs, again].flatMap((emulator) => Object.values<string>({ ...emulator.keys() }))
  expect(new Set(all).size).toBe(9)
})

test('derives missing keys from a given seed and the name', () => {
  const keysOf = (seed: number, name: string) => createEmulator({ seed, projects: [{ name }] }).keys()
  expect(keysOf(1, 'A')).toEqual(keysOf(1, 'A'))
  const made = [keysOf(1, 'A'), keysOf(2, 'A'), keysOf(1, 'B')]
  const all = made.flatMap(({ apiKey, authKey, signingSecret }) => [apiKey, authKey, signingSecret])
  expect(new Set(all).size).toBe(9)
})

test('the error for an unknown project names the known ones', async () => {
  const { emulator } = await emulating()
  const expected = expect.objectContaining({
    code: 'emulator_project_unknown',
    message: expect.stringContaining('"My Shop"') as string,
  }) as Error
  expect(() => emulator.keys({ project: 'my shop' })).toThrow(expected)
  await expect(emulator.trigger('received', {}, { project: 'my shop' })).rejects.toThrow(expected)
})

test('no state, activity or report shows a key', async () => {
  const { callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls }, { faults: { oldKey: 0.5, tamperedByte: 0.5 } })
  const seen: unknown[] = []
  emulator.onActivity((activity) => void seen.push(activity))
  await sendFrom(endpoint, { to: '999100000000' })
  await sendFrom(endpoint, { to: '999100000000', apiKey: `${API_KEY}-wrong` })
  await idle()
  expect(seen).toHaveLength(3)
  const shown = JSON.stringify([seen, emulator.projects(), emulator.report(), emulator.sends(), emulator.deliveries()])
  for (const key of [API_KEY, AUTH_KEY, SIGNING_SECRET]) expect(shown).not.toContain(key)
})

test('shows callback URLs without credentials, and posts with them', async () => {
  const { collected, callbackUrls } = await collecting()
  const secret = callbackUrls.received.replace('http://', 'http://user:password@')
  const { emulator, url } = await emulating({ callbackUrls: { received: secret } })
  const overHttp = await fetch(`${url}/control/projects`)
  const shown = [emulator.projects(), await overHttp.json(), [emulator.configure({ balance: 5 })]]
  expect(shown).toMatchObject(shown.map(() => [{ callbackUrls: { received: callbackUrls.received } }]))
  expect(JSON.stringify(shown)).not.toContain('password')
  expect(await emulator.trigger('received')).toHaveLength(1)
  expect(collected).toHaveLength(1)
})
