/**
 * Real callbacks that cannot be proved yet, amid forgeries of every size from 1 to 255 KB: with the default limits no
 * real callback is lost. `FORGERIES=100000` is the complete flood: gigabytes, and minutes.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createReceiver, type CredentialsFunction, type ErrorCode, type WebhookEvent } from 'messaging-webhooks'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { A, B } from '../support/pairs.ts'
import { postAll } from '../support/pipelining.ts'
import { servingStatus } from '../support/receiving.ts'
import { forgeries, problemsOf, realCallbacks, signedNow } from './quarantine-traffic.ts'

const FORGERIES = Number(process.env['FORGERIES'] ?? 510)
/** Forgeries that are posted together: each size once. */
const BATCH = 255
const DIGEST = 'ab'.repeat(32)
const MIB = 1_024 * 1_024

interface Adversary {
  readonly from: (batch: number) => readonly string[]
  readonly project: (nth: number) => string
}

const thousand = (batch: number): readonly string[] =>
  [0, 1, 2, 3].map((nth) => (4 * batch + nth) % 1_000).map((nth) => `127.0.${1 + (nth >> 8)}.${nth & 255}`)
const ADVERSARIES: Readonly<Record<string, Adversary>> = {
  'one address': { from: () => ['127.0.0.2'], project: () => 'My Shop' },
  'a thousand addresses': { from: thousand, project: () => 'My Shop' },
  'one address, naming what cannot be looked up': { from: () => ['127.0.0.2'], project: (nth) => `poison ${nth % 3}` },
  'a thousand addresses, each request with a name of its own': { from: thousand, project: (nth) => `poison ${nth}` },
  'the proxy of all, each request with a name of its own': {
    from: () => ['127.0.0.1'],
    project: (nth) => `poison ${nth}`,
  },
}

function largeForgeries(batch: number, { project }: Adversary): Parameters<typeof postAll>[1] {
  const t = Math.floor(Date.now() / 1_000)
  return Array.from({ length: BATCH }, (_, index) => {
    const nth = batch * BATCH + index
    const start = `{"project":"${project(nth)}","messageId":"${nth}","channel":"sms","status":"success","authKey":"a guess","pad":"`
    const body = `${start.padEnd(1_024 * (index + 1) - 2, 'x')}"}`
    return [body, { 'x-service-signature': `t=${t},v1=${DIGEST}` }]
  })
}

/** A receiver that cannot prove the callbacks it receives. */
async function receiverWithoutProof(credentials: (isFixed: boolean) => CredentialsFunction, maxBytes = 16 * MIB) {
  let lookUp = credentials(false)
  const receiver = createReceiver({
    credentials: (project) => lookUp(project),
    quarantine: { maxBytes },
    logger: false,
  })
  const events: WebhookEvent[] = []
  const codes: ErrorCode[] = []
  receiver.onAny((event) => void events.push(event))
  receiver.onError(({ code }) => void codes.push(code))
  const url = await servingStatus(receiver)

  /** Switches to the right pair; every real callback is recovered, in the order of its message. */
  async function expectRecovered(): Promise<void> {
    lookUp = credentials(true)
    expect(await receiver.quarantine.reverify()).toMatchObject({ admitted: 1_000 })
    expect(await receiver.drain()).toBe(true)
    const handled = events.map((event) => ['messageId' in event ? event.messageId : '', event.type] as const)
    expect(handled).toHaveLength(1_000)
    expect(problemsOf(handled)).toEqual([])
  }

  return { receiver, url, codes, expectRecovered }
}

const CAUSES: Readonly<
  Record<string, { readonly status: number; readonly credentials: Parameters<typeof receiverWithoutProof>[0] }>
> = {
  'under an unknown pair': {
    status: 401,
    credentials: (isFixed) => () => (isFixed ? A : B),
  },
  'while every lookup fails': {
    status: 503,
    credentials: (isFixed) => (project) => {
      if (!isFixed || project !== 'My Shop') throw new Error('lookup unavailable')
      return A
    },
  },
}

/** All combinations in the long form. The short form skips adversaries without poisoned project names where lookups fail. */
const CASES = Object.entries(CAUSES).flatMap(([cause, { status }]) =>
  Object.keys(ADVERSARIES)
    .filter((who) => FORGERIES >= 10_000 || status === 401 || who.includes('nam'))
    .map((who) => [cause, who] as const),
)

test.each(CASES)(
  'recovers all 1,000 callbacks received %s, amid forgeries from %s',
  { timeout: 60_000 + FORGERIES * 100 },
  async (cause, who) => {
    const { status, credentials } = CAUSES[cause] ?? expect.unreachable()
    const adversary = ADVERSARIES[who] ?? expect.unreachable()
    const { receiver, url, expectRecovered } = await receiverWithoutProof(credentials)
    const real = realCallbacks()
    expect(Math.max(...real.map(([body]) => body.length))).toBeLessThan(512)
    const batches = Math.ceil(FORGERIES / BATCH)
    const startedMs = performance.now()
    // Half of the flood arrives before the real callbacks, half between them.
    for (let batch = 0; batch < batches; batch += 1) {
      const flood = await postAll(url, largeForgeries(batch, adversary), adversary.from(batch))
      expect(flood).toEqual({ [status]: BATCH })
      const half = batches >> 1
      const part = (nth: number): number => Math.floor((Math.max(0, nth - half) / (batches - half)) * real.length)
      const some = real.slice(part(batch), part(batch + 1))
      if (some.length > 0)
        expect(await postAll(url, some.map(signedNow), ['127.0.0.1'])).toEqual({ [status]: some.length })
    }
    const seconds = (performance.now() - startedMs) / 1_000
    const counts = receiver.quarantine.counts()
    expect(counts.bytes).toBeLessThanOrEqual(16 * MIB)
    await expectRecovered()
    if (FORGERIES >= 10_000)
      console.log(
        `${cause}, from ${who}: ${batches * BATCH} forgeries in ${seconds.toFixed(0)} s, ${JSON.stringify(counts)}`,
      )
  },
)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Heap size without uncollected garbage. */
function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

test('a flood of well-shaped forgeries keeps to its share of the quarantine', { timeout: 60_000 }, async () => {
  const maxBytes = 4 * MIB
  const count = 20_000
  const { receiver, url, codes, expectRecovered } = await receiverWithoutProof(
    (isFixed) => () => (isFixed ? A : B),
    maxBytes,
  )
  expect(await postAll(url, realCallbacks())).toEqual({ 401: 1_000 })
  const heapBefore = heapBytes()
  expect(await postAll(url, forgeries(count))).toEqual({ 401: count })
  const { bytes, dropped, looksLikeOurs } = receiver.quarantine.counts()
  expect(bytes).toBeLessThanOrEqual(maxBytes / 2)
  expect(dropped).toBe(1_000 + count - looksLikeOurs)
  // Unbounded, they would take about 18 MB. Memory of the last requests is freed only a turn later.
  await expect.poll(() => heapBytes() - heapBefore).toBeLessThan(2 * maxBytes)
  expect(codes.filter((code) => code === 'quarantine_full')).toHaveLength(1)
  // Callbacks signed with the right key still have capacity.
  const body = JSON.stringify(callback.smsDelivery())
  const stale = { 'x-service-signature': signCallback(body, B.signingSecret, { timestamp: 1_700_000_000 }) }
  expect(await postAll(url, [[body, stale]])).toEqual({ 401: 1 })
  expect(receiver.quarantine.counts()).toMatchObject({ provedButStale: 1 })
  await expectRecovered()
})
