/** Options, listening, closing, and repeatable runs. */
import {
  createEmulator,
  FAULT_NAMES,
  type Delivery,
  type Emulator,
  type EmulatorOptions,
} from 'messaging-webhooks/emulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { receiving, serve } from '../support/receiving.ts'
import { AT_ONCE, AUTH_KEY, collecting, emulating, sendFrom, SHOP, SIGNING_SECRET } from './emulating.ts'

describe('a signature header that is sent twice', () => {
  test.each([
    ['signature', { lost: 0, rightlyRefused: 1, refused: 1, accepted: 0 }],
    ['either', { lost: 0, rightlyRefused: 0, refused: 0, accepted: 1 }],
  ] as const)('does not count as lost with proof %s', async (proof, counts) => {
    const credentials = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
    const { url } = await receiving({ credentials }, { kind: 'received', proof })
    const { emulator } = await emulating({ callbackUrls: { received: url } }, { faults: { headerTwice: 1 } })
    await emulator.trigger('received')
    expect(emulator.report().callbacks).toMatchObject({ sent: 1, wronglyAccepted: 0, ...counts })
  })

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
})

describe('faults are counted by callback', () => {
  test('three callbacks posted twice count as three duplicates', async () => {
    const { collected, callbackUrls } = await collecting()
    const { emulator } = await emulating({ callbackUrls }, { faults: { duplicate: 1 } })
    for (let nth = 0; nth < 3; nth += 1) await emulator.trigger('received')
    expect(collected).toHaveLength(6)
    expect(emulator.report()).toMatchObject({
      callbacks: { sent: 6 },
      faults: { duplicate: { applied: 3, accepted: 3 } },
    })
  })
})

describe('an invalid option', () => {
  const shop = { name: SHOP }
  const CASES: readonly (readonly [name: string, options: object, text: string])[] = [
    ['no projects', { projects: [] }, 'projects'],
    ['a project without a name', { projects: [{ name: '' }] }, 'projects.0.name'],
    ['two of one name', { projects: [shop, shop] }, 'expected a different name for each project'],
    ['an unknown option', { project: shop }, 'Invalid option: project. Did you mean projects?'],
    ['an unknown option of a project', { projects: [{ ...shop, url: 'x' }] }, 'Invalid option: projects.0.url'],
    [
      'a misspelt key',
      { projects: [{ ...shop, authkey: 'x' }] },
      'Invalid option: projects.0.authkey. Did you mean projects.0.authKey?',
    ],
    ['an empty key', { projects: [{ ...shop, authKey: '' }] }, 'projects.0.authKey'],
    ['a URL of another scheme', { projects: [{ ...shop, callbackUrls: { status: 'file:///x' } }] }, 'http or https'],
    [
      'an unknown kind',
      { projects: [{ ...shop, callbackUrls: { statuses: 'http://x' } }] },
      'Did you mean projects.0.callbackUrls.status?',
    ],
    ['a negative balance', { projects: [{ ...shop, balance: -1 }] }, 'projects.0.balance'],
    ['a share above 1', { network: { readShare: 1.5 } }, 'network.readShare is 1.5; expected a number from 0 to 1'],
    ['a share that does not exist', { network: { readshares: 0.5 } }, 'Did you mean network.readShare?'],
    ['a time without its unit', { callbackTimeout: 5 }, 'Did you mean callbackTimeoutMs?'],
    ['shares that are too much together', { network: { permanentShare: 0.6, transientShare: 0.6 } }, 'more than 1'],
    ['delays the wrong way round', { network: { delayMs: [5, 1] } }, 'the minimum and the maximum'],
    ['an unknown fault', { faults: { gremlins: 1 } }, 'gremlins'],
    ['a misspelt fault', { faults: { duplicats: 1 } }, 'Did you mean faults.duplicate?'],
    ['a rate above 1', { faults: { drop: 2 } }, 'drop'],
    ['an invalid clock', { clock: 5 }, 'clock is a number; expected a function that returns milliseconds, or a clock'],
    ['a clock that is null', { clock: null }, 'clock is null'],
    ['an invalid seed', { seed: {} }, 'seed'],
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
    ['idle', [{ deadlineMs: Number.NaN }], 'idle: deadlineMs is NaN; expected a number of milliseconds from 0'],
    ['keys', [{ projct: SHOP }], 'Invalid option for keys: projct. Did you mean project?'],
    ['keys', [SHOP], 'keys: options is a string; expected an object such as { project }'],
    ['configure', [{ ballance: 5 }], 'Invalid option for configure: ballance. Did you mean balance?'],
    ['configure', [{ balance: 5 }, { name: SHOP }], 'Invalid option for configure: name. Valid: project'],
    [
      'rotateKeys',
      [{ signingsecret: 'x' }],
      'Invalid option for rotateKeys: signingsecret. Did you mean signingSecret?',
    ],
    ['regenerateApiKey', [7], 'regenerateApiKey: apiKey is a number; expected a non-empty string'],
    ['trigger', ['recieved'], 'trigger: unknown event. Got "recieved". Did you mean "received"?'],
    ['trigger', ['received', {}, { of: SHOP }], 'Invalid option for trigger: of'],
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
  const faults = Object.fromEntries(FAULT_NAMES.map((name) => [name, name.includes('300') ? 0 : 0.08]))
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

  test('repeats ids, outcomes and faults with the same seed and sends', { timeout: 120_000 }, async () => {
    const first = await run('one')
    expect(await run('one')).toEqual(first)
    expect(first.deliveries.length).toBeGreaterThan(100)
    expect(Object.keys(first.faults as object).length).toBeGreaterThan(12)
  })

  test('differs with another seed', { timeout: 120_000 }, async () => {
    expect(await run('two')).not.toEqual(await run('one'))
  })
})

test('keeps only the newest sends and deliveries, and counts all', async () => {
  const { callbackUrls } = await collecting()
  const { emulator, endpoint, idle } = await emulating({ callbackUrls }, { keep: 10 })
  for (let sent = 0; sent < 30; sent += 1) await sendFrom(endpoint, { to: '999100000000', type: 'transactional' })
  await idle()
  expect(emulator.sends().length).toBeLessThanOrEqual(11)
  expect(emulator.deliveries().length).toBeLessThanOrEqual(11)
  expect(emulator.otpLog()).toHaveLength(10)
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

test('lists a payload that cannot be serialised among the failures of the report', async () => {
  const { callbackUrls } = await collecting()
  const { emulator } = await emulating({ callbackUrls })
  await emulator.callback('status', { amount: 1n, run() {} })
  expect(emulator.report().failures).toMatchObject([{ sent: false, error: 'the payload cannot be written as JSON' }])
})
