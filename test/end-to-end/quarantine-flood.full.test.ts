/**
 * Real callbacks that cannot be proved yet, amid forgeries of every size from 1 to 255 KB: with the default limits none of
 * the real ones is lost. `FORGERIES=100000` is the whole flood: gigabytes, and minutes.
 */
import { createReceiver, type CredentialsFunction, type WebhookEvent } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { A, B } from '../support/pairs.ts'
import { postAll } from '../support/pipelining.ts'
import { servingStatus } from '../support/receiving.ts'
import { problemsOf, realCallbacks } from './quarantine-traffic.ts'

const FORGERIES = Number(process.env['FORGERIES'] ?? 510)
/** Forgeries that are posted together: each size once. */
const BATCH = 255
const DIGEST = 'ab'.repeat(32)

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

function forgeries(batch: number, { project }: Adversary): Parameters<typeof postAll>[1] {
  const t = Math.floor(Date.now() / 1_000)
  return Array.from({ length: BATCH }, (_, index) => {
    const nth = batch * BATCH + index
    const start = `{"project":"${project(nth)}","messageId":"${nth}","channel":"sms","status":"success","authKey":"a guess","pad":"`
    const body = `${start.padEnd(1_024 * (index + 1) - 2, 'x')}"}`
    return [body, { 'x-service-signature': `t=${t},v1=${DIGEST}` }]
  })
}

/** A receiver that cannot prove what comes until `mend()`. */
async function unable(credentials: (mended: boolean) => CredentialsFunction) {
  let lookUp = credentials(false)
  const receiver = createReceiver({ credentials: (project) => lookUp(project), logger: false })
  const events: WebhookEvent[] = []
  receiver.onAny((event) => void events.push(event))
  const url = await servingStatus(receiver)
  return { receiver, url, events, mend: () => void (lookUp = credentials(true)) }
}

const CAUSES: Readonly<
  Record<string, { readonly status: number; readonly credentials: Parameters<typeof unable>[0] }>
> = {
  'under a pair that is not known yet': {
    status: 401,
    credentials: (mended) => () => (mended ? A : B),
  },
  'while no look-up works': {
    status: 503,
    credentials: (mended) => (project) => {
      if (!mended || project !== 'My Shop') throw new Error('away')
      return A
    },
  },
}

/** Each with each in the long form; without it, only those who name what cannot be looked up where no look-up works. */
const CASES = Object.entries(CAUSES).flatMap(([cause, { status }]) =>
  Object.keys(ADVERSARIES)
    .filter((who) => FORGERIES >= 10_000 || status === 401 || who.includes('nam'))
    .map((who) => [cause, who] as const),
)

test.each(CASES)(
  '1,000 callbacks that come %s, amid forgeries from %s, are all recovered',
  { timeout: 60_000 + FORGERIES * 100 },
  async (cause, who) => {
    const { status, credentials } = CAUSES[cause] ?? expect.unreachable()
    const adversary = ADVERSARIES[who] ?? expect.unreachable()
    const { receiver, url, events, mend } = await unable(credentials)
    const real = realCallbacks()
    expect(Math.max(...real.map(([body]) => body.length))).toBeLessThan(512)
    const batches = Math.ceil(FORGERIES / BATCH)
    const startedMs = performance.now()
    // Half of the flood comes before, half between the real ones.
    for (let batch = 0; batch < batches; batch += 1) {
      const flood = await postAll(url, forgeries(batch, adversary), adversary.from(batch))
      expect(flood).toEqual({ [status]: BATCH })
      const half = batches >> 1
      const part = (nth: number): number => Math.floor((Math.max(0, nth - half) / (batches - half)) * real.length)
      const some = real.slice(part(batch), part(batch + 1))
      if (some.length > 0) expect(await postAll(url, some, ['127.0.0.1'])).toEqual({ [status]: some.length })
    }
    const seconds = (performance.now() - startedMs) / 1_000
    const counts = receiver.quarantine.counts()
    expect(counts.bytes).toBeLessThanOrEqual(16 * 1_024 * 1_024)
    mend()
    expect(await receiver.quarantine.reverify()).toMatchObject({ admitted: 1_000 })
    expect(await receiver.drain()).toBe(true)
    const handed = events.map((event) => ['messageId' in event ? event.messageId : '', event.type] as const)
    expect(handed).toHaveLength(1_000)
    expect(problemsOf(handed)).toEqual([])
    if (FORGERIES >= 10_000)
      console.log(
        `${cause}, from ${who}: ${batches * BATCH} forgeries in ${seconds.toFixed(0)} s, ${JSON.stringify(counts)}`,
      )
  },
)
