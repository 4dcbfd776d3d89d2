/** Options, listening, closing, and repeatable runs. */
import {
  createEmulator,
  FAULT_NAMES,
  type Delivery,
  type Emulator,
  type EmulatorOptions,
} from 'messaging-webhooks/emulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serve } from '../support/receiving.ts'
import { AT_ONCE, collecting, emulating, sendFrom, SHOP } from './emulating.ts'

test('counts the refusal of a faultless callback as a loss, and that of a stale signature not', async () => {
  const { collected, callbackUrls } = await collecting(500)
  const { emulator } = await emulating({ callbackUrls })
  await emulator.trigger('received')
  expect(emulator.report().callbacks).toMatchObject({ lost: 1, rightlyRefused: 0, refused: 1 })
  const { emulator: stale } = await emulating({ callbackUrls }, { faults: { staleSignature: 1 } })
  await stale.trigger('received')
  expect(stale.report().callbacks).toMatchObject({ lost: 0, rightlyRefused: 1, refused: 1 })
  expect(collected).toHaveLength(2)
})

describe('an invalid option', () => {
  const shop = { name: SHOP }
  const CASES: readonly (readonly [name: string, options: object, text: string])[] = [
    ['no projects', { projects: [] }, 'projects'],
    ['two of one name', { projects: [shop, shop] }, 'expected a different name for each project'],
    ['an unknown option', { project: shop }, 'Invalid option: project. Did you mean projects?'],
    [
      'a misspelt key',
      { projects: [{ ...shop, authkey: 'x' }] },
      'Invalid option: projects.0.authkey. Did you mean projects.0.authKey?',
    ],
    ['a URL of another scheme', { projects: [{ ...shop, callbackUrls: { status: 'file:///x' } }] }, 'http or https'],
    [
      'an unknown kind',
      { projects: [{ ...shop, callbackUrls: { statuses: 'http://x' } }] },
      'Did you mean projects.0.callbackUrls.status?',
    ],
    ['a share above 1', { network: { readShare: 1.5 } }, 'network.readShare is 1.5; expected a number from 0 to 1'],
    ['shares that are too much together', { network: { permanentShare: 0.6, transientShare: 0.6 } }, 'more than 1'],
    ['delays the wrong way round', { network: { delayMs: [5, 1] } }, 'the minimum and the maximum'],
    ['a misspelt fault', { faults: { duplicats: 1 } }, 'Did you mean faults.duplicate?'],
    ['a misspelt fault of answers', { sendFaults: { noAnwser: 1 } }, 'Did you mean sendFaults.noAnswer?'],
    ['a misspelt channel', { channels: { chatapp: 'x' } }, 'channels.chatapp. Did you mean channels.chat-app?'],
    ['a name for SMS', { channels: { sms: 'text' } }, 'channels.sms is a string; expected to be left out'],
    ['capital letters', { channels: { 'chat-app': 'Telegraph' } }, 'expected the chat-app’s name in lowercase'],
    ['spaces around a name', { channels: { airtime: ' airtime' } }, 'expected a name without spaces around it'],
    ['a control character', { channels: { 'chat-app': 'tele\u0000graph' } }, 'expected the chat-app’s name'],
    ['one name for two', { channels: { 'chat-app': 'x', airtime: 'x' } }, '"x" is the name of chat-app and of airtime'],
    ['another channel’s name', { channels: { 'chat-app': 'premium' } }, 'is the name of chat-app and of premium'],
    ['a proof of an unknown channel', { proof: { chatapp: 'signature' } }, 'proof'],
    ['a proof that does not exist', { proof: { 'chat-app': 'none' } }, 'proof'],
    ['an invalid clock', { clock: 5 }, 'clock is a number; expected a function that returns milliseconds, or a clock'],
  ]

  test.each(CASES)('%s is an error that names the option', (_, options, text) => {
    expect(() => createEmulator(options as EmulatorOptions)).toThrow(
      expect.objectContaining({ code: 'options_invalid', message: expect.stringContaining(text) as string }) as Error,
    )
  })

  test.each([{ projects: [{ name: SHOP, apiKey: ['secret-of-mine'] }] }, { faults: { drop: 'secret-of-mine' } }])(
    'does not quote a value that may be a key (%#)',
    (options: object) => {
      expect(() => createEmulator(options as EmulatorOptions)).toThrow(/^((?!secret-of-mine).)*$/)
    },
  )
})

describe('methods refuse invalid arguments by name', () => {
  const MISTAKES: readonly (readonly [of: keyof Emulator, input: readonly unknown[], says: string])[] = [
    ['idle', [{ deadline: 5 }], 'Invalid option for idle: deadline. Did you mean deadlineMs?'],
    ['keys', [SHOP], 'keys: options is a string; expected an object such as { project }'],
    ['configure', [{ ballance: 5 }], 'Invalid option for configure: ballance. Did you mean balance?'],
    ['configure', [{ balance: 5 }, { name: SHOP }], 'Invalid option for configure: name. Valid: project'],
    ['rotateKeys', [{ signingsecret: 'x' }], 'rotateKeys: signingsecret. Did you mean signingSecret?'],
    ['regenerateApiKey', [7], 'regenerateApiKey: apiKey is a number; expected a non-empty string'],
    ['trigger', ['recieved'], 'trigger: unknown event. Got "recieved". Did you mean "received"?'],
    ['callback', ['statuses', {}], 'callback: unknown kind. Got "statuses". Did you mean "status"?'],
    ['callback', ['status', {}, { proect: SHOP }], 'Invalid option for callback: proect. Did you mean project?'],
  ]

  test.each(MISTAKES)('%s(%j)', async (name, input, says) => {
    const { emulator } = await emulating()
    const call = async (): Promise<unknown> => Reflect.apply(emulator[name], undefined, input) as unknown
    await expect(call()).rejects.toMatchObject({
      code: 'options_invalid',
      message: expect.stringContaining(says) as string,
    })
  })
})

describe('listening', () => {
  test('uses a free port on loopback, and listens once', async () => {
    const { emulator, url } = await emulating()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    await expect(emulator.listen()).rejects.toMatchObject({ code: 'emulator_listening' })
  })

  test('fails on a port in use, and can then use another one', async () => {
    const { url } = await emulating()
    const second = createEmulator()
    onTestFinished(() => second.close())
    await expect(second.listen(Number(new URL(url).port))).rejects.toMatchObject({ code: 'emulator_port' })
    expect(await second.listen()).toMatchObject({ port: expect.any(Number) as number })
  })

  test('ends with close, as do all timers and connections', async () => {
    const { callbackUrls } = await collecting()
    const { emulator, endpoint } = await emulating({ callbackUrls })
    await emulator.close()
    await emulator.close()
    await expect(fetch(endpoint)).rejects.toThrow()
    await expect(emulator.listen()).rejects.toMatchObject({ code: 'emulator_closed' })
    await expect(emulator.trigger('received')).rejects.toMatchObject({ code: 'emulator_closed' })
    await expect(emulator.callback('status', {})).rejects.toMatchObject({ code: 'emulator_closed' })
  })
})

describe('a run', () => {
  const faults = Object.fromEntries(FAULT_NAMES.map((name) => [name, 0.08]))
  const to = Array.from({ length: 40 }, (_, index) => `25471100${String(index).padStart(4, '0')}`)

  /** Answers every request, and survives incomplete ones. */
  const takingAll = () =>
    serve((request, response) => {
      request.on('error', () => {})
      request.resume().on('end', () => response.writeHead(204).end())
    })

  /** What every run with this seed repeats: everything except times and the order in which timers fire. */
  async function run(seed: string): Promise<{ answers: unknown; deliveries: readonly string[]; faults: unknown }> {
    const url = await takingAll()
    const callbackUrls = { status: url, payment: url }
    const network = { ...AT_ONCE, delayMs: [0, 20] as const, permanentShare: 0.2, transientShare: 0.2 }
    const { emulator, endpoint, idle } = await emulating({ callbackUrls }, { seed, faults, network, clock: () => 0 })
    const answers = [
      (await sendFrom(endpoint, { to })).body,
      (await sendFrom(endpoint, { to, channel: 'chat-app' })).body,
      (await sendFrom(endpoint, { to: to.slice(0, 5), type: 'transactional' })).body,
    ]
    await emulator.trigger('payment')
    await idle()
    const shown = ({ kind, payload, faults: met, sent }: Delivery): string => JSON.stringify([kind, payload, met, sent])
    const { faults: counts } = emulator.report()
    const applied = Object.fromEntries(Object.entries(counts).map(([name, { applied: count }]) => [name, count]))
    return { answers, deliveries: emulator.deliveries().map(shown).toSorted(), faults: applied }
  }

  test('without a seed shares no id with another, and the seed that it reports repeats it', async () => {
    async function ids(seed?: EmulatorOptions['seed']) {
      const { callbackUrls, collected } = await collecting()
      const { emulator, endpoint, idle } = await emulating({ callbackUrls }, { seed })
      for (const channel of ['sms', 'chat-app']) await sendFrom(endpoint, { to: to[0], channel })
      await emulator.trigger('payment')
      await idle()
      const sent = emulator.sends().flatMap(({ recipients }) => recipients.map(({ messageId }) => messageId))
      const made = collected.flatMap(({ body }) => (typeof body['id'] === 'string' ? [body['id']] : []))
      return { seed: emulator.report().seed, all: [...sent, ...made] }
    }
    const [first, second] = [await ids(), await ids()]
    expect(new Set([...first.all, ...second.all]).size).toBe(6)
    expect((await ids(first.seed)).all).toEqual(first.all)
  })

  test(
    'repeats ids, outcomes and faults with the same seed and sends, and no others',
    { timeout: 120_000 },
    async () => {
      const first = await run('one')
      expect(await run('one')).toEqual(first)
      expect(first.deliveries.length).toBeGreaterThan(100)
      expect(Object.keys(first.faults as object).length).toBeGreaterThan(9)
      expect(await run('two')).not.toEqual(first)
    },
  )
})

test('keeps only the newest sends and deliveries, and counts all', async () => {
  const { callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls }, { keep: 10 })
  for (let sent = 0; sent < 30; sent += 1) await sendFrom(endpoint, { to: '999100000000', type: 'transactional' })
  await idle()
  expect(emulator.sends().length).toBeLessThanOrEqual(11)
  expect(emulator.deliveries().length).toBeLessThanOrEqual(11)
  expect(emulator.report()).toMatchObject({ sends: { requests: 30 }, callbacks: { sent: 30, accepted: 30 } })
})

test('listeners receive sends and deliveries until they are removed, even if they throw', async () => {
  const { callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls })
  const activities: string[] = []
  emulator.onActivity(() => {
    throw new Error('of the listener')
  })
  const off = emulator.onActivity(({ type }) => void activities.push(type))
  await sendFrom(endpoint, { to: '999100000000' })
  await idle()
  off()
  await sendFrom(endpoint, { to: '999100000000' })
  await idle()
  expect(activities).toEqual(['send', 'delivery'])
})
