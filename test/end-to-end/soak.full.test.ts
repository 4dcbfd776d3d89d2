/**
 * The emulator with every fault on, against an Express app with each store. `MESSAGES` says how many messages are sent
 * (`npm run test:soak`: 20,000); the seed is fixed, so that a failure comes again. Each store has a server or a file of its
 * own.
 */
import { createReceiver, RefusedError, type Store } from 'messaging-webhooks'
import { createEmulator, FAULT_NAMES, FAULTS, type FaultName, type Emulator } from 'messaging-webhooks/emulator'
import { expect, onTestFinished, test } from 'vitest'
import { titleWith } from '../support/skipping.ts'
import { serveCallbacks } from './soak/app.ts'
import { SOAKED_STORES } from './soak/stores.ts'
import { createTraffic } from './soak/traffic.ts'
import { handedOver, judge, nameOf, type Handed } from './soak/verdict.ts'

const { MESSAGES } = process.env
/** So many messages are under way at once; then all comes to rest. */
const MESSAGES_AT_ONCE = 1_000
const SEED = 'soak'
const RATE = 0.04
const DEADLINE_MS = 120_000

/** Without `MESSAGES`: fewer where a server is asked. */
const FEW = 300
const FEW_ON_THIS_MACHINE = 600

/** Remembers what handlers were given, and why what was refused. */
async function startApp(store: Store, emulator: Emulator) {
  const receiver = createReceiver({
    credentials: emulator.keys(),
    networks: { 'carrier-a': 'carrierA', 'carrier-b': 'carrierB' },
    store,
    logger: false,
    // A busy machine is no fault of the callback's.
    bodyTimeoutMs: DEADLINE_MS,
    storeTimeoutMs: DEADLINE_MS,
  })
  const handed: Handed[] = []
  const refusals = new Map<string, number>()
  receiver.onAny((event) => void handed.push(handedOver(event)))
  receiver.onError((error) => {
    if (error instanceof RefusedError) refusals.set(error.code, (refusals.get(error.code) ?? 0) + 1)
  })
  return { receiver, handed, refusals, ...(await serveCallbacks(receiver, emulator)) }
}

for (const { name, missing, open } of SOAKED_STORES) {
  const few = name === 'memory' || name === 'sqlite' ? FEW_ON_THIS_MACHINE : FEW
  const messages = MESSAGES === undefined ? few : Number(MESSAGES)
  const reason = process.env['CI'] === 'true' ? undefined : missing()
  const title = titleWith(reason, `${messages} messages with every fault on: ${name}`)
  test.skipIf(reason !== undefined)(title, { timeout: 2 * DEADLINE_MS + messages * 60 }, async () => {
    const emulator = createEmulator({
      seed: SEED,
      faults: Object.fromEntries(FAULT_NAMES.map((fault) => [fault, RATE])),
      network: { delayMs: [0, 400], retryDelayMs: 100 },
      callbackTimeoutMs: DEADLINE_MS,
      keep: 1_000_000,
    })
    onTestFinished(() => emulator.close())
    // So that there is a pair which was right once.
    emulator.rotateKeys()
    const app = await startApp(await open(onTestFinished), emulator)
    onTestFinished(app.close)
    const { url } = await emulator.listen()
    const traffic = createTraffic(emulator, url)

    const begunMs = performance.now()
    for (let left = messages; left > 0; left -= MESSAGES_AT_ONCE) {
      await traffic.play(Math.min(left, MESSAGES_AT_ONCE))
      expect(await emulator.idle({ deadlineMs: DEADLINE_MS })).toBe(true)
    }
    expect(await app.receiver.drain({ deadlineMs: DEADLINE_MS })).toBe(true)
    const tookMs = performance.now() - begunMs

    const deliveries = emulator.deliveries()
    const verdict = judge(deliveries, app.handed)
    expect(verdict).toEqual({ lost: [], twice: [], changed: [], unasked: [], backwards: [], wronglyLate: [] })

    const { callbacks, faults } = emulator.report()
    const stats = await app.receiver.stats()
    const intact = deliveries.filter((delivery) => delivery.intact)
    const events = new Set(intact.map(({ payload }) => nameOf(payload))).size
    const late = app.handed.filter((one) => one.late).length
    console.log(
      [
        `${name}: ${messages} messages in ${(tookMs / 1_000).toFixed(1)} s`,
        `emulator: ${callbacks.sent} requests, ${callbacks.intact} intact, ${callbacks.notSent} left out; answered: ` +
          `${callbacks.taken} taken, ${callbacks.refused} refused, ${callbacks.unanswered} without an answer`,
        `receiver: ${stats.taken} taken (${events} events, ${stats.duplicates} duplicates, ${stats.late} late), ` +
          `${stats.refused} refused (${[...app.refusals].map(([code, count]) => `${code} ${count}`).join(', ')})`,
        `handlers: ${app.handed.length} events, ${late} of them late`,
        `faults: ${FAULT_NAMES.map((fault) => `${fault} ${faults[fault]?.applied ?? 0}`).join(', ')}`,
      ].join('\n  '),
    )

    // The two reports agree to the message.
    expect(app.requests()).toBe(callbacks.sent)
    expect(stats).toMatchObject({
      taken: callbacks.intact,
      refused: callbacks.sent - callbacks.intact,
      duplicates: callbacks.intact - events,
      late,
      unsettled: 0,
      deadLetters: 0,
    })
    expect(callbacks).toMatchObject({ lost: 0, wronglyTaken: 0 })
    // What has no answer was reset, or closed by the sender before the answer came.
    for (const { status, faults: met } of deliveries.filter(({ sent, status }) => sent && status === undefined))
      expect([status, met.some((fault) => fault === 'connectionReset' || fault === 'halfClose')]).toEqual([
        undefined,
        true,
      ])

    const count = (fault: FaultName) => faults[fault] ?? { applied: 0, taken: 0, refused: 0, unanswered: 0 }
    for (const fault of FAULT_NAMES) {
      expect(count(fault).applied, fault).toBeGreaterThan(0)
      // The second may turn while one of these is under way; then the other answer is right.
      if (FAULTS[fault].taken === 'no' && fault !== 'ahead301')
        expect(count(fault), fault).toMatchObject({ taken: 0, refused: count(fault).applied })
    }
  })
}
