/**
 * kill -9 at every step of a send, and of the event that says its result is unknown: nothing is sent twice under one reference, and each
 * send ends with a known result or exactly one event that says the result is unknown.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEmulator } from 'messaging-webhooks/emulator'
import { expect } from 'vitest'
import type { Expectation } from '../../src/messages/expected.ts'
import { freePort } from '../support/free-port.ts'
import { runProgram } from '../support/program.ts'
import { onEachEngine } from './cluster/on-each-engine.ts'

const APP = join(import.meta.dirname, 'programs/sending-app.ts')
const EACH = 12
/** With `CRASHES` (`npm run test:crash`) at each point on each engine; otherwise servers run only the store's own steps. */
const WHOLE = process.env['CRASHES'] !== undefined
const OF_THE_STORE =
  /^(after-intention|after-answer|after-end|after-overdue|in-admission|after-admission|before-settlement|after-settlement)$/

const POINTS = [
  ['before-intention', 5],
  ['after-intention', 5],
  ['in-request', 5],
  ['in-answer', 5],
  ['before-answer', 5],
  ['after-answer', 5],
  ['after-end', 5],
  ['in-report', 2],
  ['in-unknown', 1],
  ['in-overdue', 1],
  ['after-overdue', 1],
  ['in-admission', 1],
  ['after-admission', 1],
  ['before-settlement', 2],
  ['after-settlement', 2],
  ['in-text', 1],
  ['before-intention-of-repetition', 1],
  ['after-intention-of-repetition', 1],
  ['before-answer-of-repetition', 1],
  ['after-answer-of-repetition', 1],
] as const

const keys = { authKey: 'auth-key-of-the-test', signingSecret: 'signing-secret-of-the-test' }
const shop = { name: 'My Shop', apiKey: 'api-key-of-the-test' }

type Kept = Expectation & { readonly wasOverdue: boolean }

onEachEngine(
  ['sqlite', 'postgres', 'mysql', 'redis'],
  'a kill at any step of a send repeats no send and loses none',
  async ({ server, engine, context }) => {
    const folder = mkdtempSync(join(tmpdir(), 'sends-'))
    context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const port = await freePort()
    const emulator = createEmulator({
      projects: [{ ...shop, ...keys, callbackUrls: { status: `http://127.0.0.1:${port}/` } }],
      // So that of each dozen some fail temporarily, some become overdue, and some answers are lost.
      network: { delayMs: [0, 50], carrierAShare: 1, transientShare: 0.4 },
      faults: { drop: 0.2 },
      sendFaults: { noAnswer: 0.05, lostRequest: 0.05 },
      seed: 'sends',
    })
    context.onTestFinished(() => emulator.close())
    const { url } = await emulator.listen()

    const log = join(folder, 'log')
    const baseUrl = `${url}/api/v1/messaging`
    const given = { spec: server.spec('sends'), log, baseUrl, project: shop.name, apiKey: shop.apiKey, keys, port }
    const live = async (plan: object) => runProgram(process.execPath, [APP, JSON.stringify({ ...given, ...plan })])
    const all: (readonly [reference: string, to: string])[] = []
    const points = POINTS.filter(([point]) => WHOLE || engine === 'sqlite' || OF_THE_STORE.test(point))
    for (const [point, nth] of points) {
      const from = all.length
      const sends = Array.from(
        { length: EACH },
        (_, at) => [`${point} ${at}`, String(254_711_000_000 + from + at)] as const,
      )
      all.push(...sends)
      await live({ sends, point, nth })
    }
    // Send everything again, as a caller that does not know how far it came.
    const last = await live({ sends: all })
    expect(last.code, last.stderr).toBe(0)

    const lines = readFileSync(log, 'utf8').trimEnd().split('\n')
    expect(lines.at(-1)).toBe('over')
    const of = (what: string): readonly string[] =>
      lines.filter((line) => line.startsWith(`${what} `)).map((line) => line.slice(what.length + 1))
    expect(of('killed')).toEqual(points.map(([point]) => point))

    const kept = of('kept').map((line) => JSON.parse(line) as Kept)
    const unknown = new Map<string, Set<string>>()
    for (const line of of('unknown')) {
      const place = line.lastIndexOf(' ')
      const reference = line.slice(0, place)
      unknown.set(reference, (unknown.get(reference) ?? new Set()).add(line.slice(place + 1)))
    }
    const journal = emulator.sends().flatMap(({ recipients }) => recipients)
    const numbers = new Map([...all, ...journal.map(({ messageId, to }) => [`resend of ${messageId}`, to] as const)])
    const pending = kept.filter(({ recipients }) => recipients !== undefined)
    const references = pending.flatMap(({ reference }) => reference ?? [])
    expect(new Set(references).size, 'each send was recorded once').toBe(references.length)
    expect(references).toEqual(expect.arrayContaining(all.map(([reference]) => reference)))
    const repetitions = references.filter((reference) => reference.startsWith('resend of '))
    expect(repetitions.length).toBeGreaterThan(5)
    for (const { reference = '', wasOverdue } of pending) {
      const messages = kept.filter((each) => each.reference === reference && each.recipients === undefined)
      const events = unknown.get(reference)?.size ?? 0
      expect(messages.length + events, `${reference} is either expected or unknown`).toBe(1)
      expect(wasOverdue).toBe(events === 1)
      for (const { messageId, to } of messages) {
        expect(to).toBe(numbers.get(reference))
        expect(journal.filter((each) => each.messageId === messageId)).toHaveLength(1)
      }
    }
    for (const [, to] of all) {
      const ofIt = references.filter((reference) => numbers.get(reference) === to)
      const made = journal.filter((each) => each.to === to)
      expect(made.length, `${to} was sent to at most once under each reference`).toBeLessThanOrEqual(ofIt.length)
    }
    const account: unknown = JSON.parse(of('account')[0] ?? '')
    expect(account).toMatchObject({ sent: references.length, resent: repetitions.length, waiting: 0 })
    // The run produced every case that this test covers.
    expect(unknown.size).toBeGreaterThan(5)
    expect(unknown.size).toBeLessThan(references.length / 2)
    const overdue = of('overdue').map((line) => line.split(' '))
    expect(new Set(overdue.map(([messageId]) => messageId)).size).toBe(new Set(overdue.map(([, id]) => id)).size)
    expect(overdue.length).toBeGreaterThan(0)
  },
  { timeoutMs: 600_000 },
)
