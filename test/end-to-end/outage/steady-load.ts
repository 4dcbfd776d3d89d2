/** So many callbacks a second whatever becomes of them, and how far behind the handlers are: by one clock of the machine. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { callback } from 'messaging-webhooks/testing'
import { AUTH_KEY } from '../cluster/instance.ts'
import { send } from '../cluster/service.ts'

const TICK_MS = 10
const STEPS = ['sent', 'delivered', 'read'] as const
/** A message's next step comes so many ticks after the answer to the last one: then it has arrived later for sure. */
const TICKS_A_STEP = 10

interface SteadyLoad {
  /** When each `message status` was sent, by `process.hrtime`, in milliseconds. */
  readonly sentAtMs: ReadonlyMap<string, number>
  readonly answered: ReadonlySet<string>
  readonly statuses: ReadonlyMap<number | undefined, number>
  readonly slowestMs: number
  /** Resolves when everything that was sent is answered. */
  stop(): Promise<void>
}

export function hrtimeMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

/**
 * Starts sending at once; each message has three steps, in their order. No more than `mostUnderWay` wait for their answers:
 * so a machine that is slow has less to do, and not more.
 */
export function startSteadyLoad(url: string, aSecond: number, mostUnderWay: number): SteadyLoad {
  const agent = new http.Agent({ keepAlive: true })
  const sentAtMs = new Map<string, number>()
  const answered = new Set<string>()
  const statuses = new Map<number | undefined, number>()
  const underWay = new Set<Promise<void>>()
  const begunMs = hrtimeMs()
  let messages = 0
  let slowestMs = 0
  let due: { readonly tick: number; readonly messageId: string; readonly step: number }[] = []
  let tick = 0

  async function sendStep(messageId: string, step: number): Promise<void> {
    const status = STEPS[step] ?? 'read'
    const name = `${messageId} ${status}`
    const report = callback.chatApp({ authKey: AUTH_KEY, statuses: { message_id: messageId, status } })
    const atMs = hrtimeMs()
    sentAtMs.set(name, atMs)
    const answer = await send(url, JSON.stringify(report), agent)
    if (step + 1 < STEPS.length) due.push({ tick: tick + TICKS_A_STEP, messageId, step: step + 1 })
    if (answer === 204) answered.add(name)
    statuses.set(answer, (statuses.get(answer) ?? 0) + 1)
    slowestMs = Math.max(slowestMs, hrtimeMs() - atMs)
  }

  function begin(messageId: string, step: number): void {
    const sending = sendStep(messageId, step).finally(() => underWay.delete(sending))
    underWay.add(sending)
  }

  const timer = setInterval(() => {
    tick = Math.floor((hrtimeMs() - begunMs) / TICK_MS)
    const now = due.filter((step) => step.tick <= tick)
    due = due.filter((step) => step.tick > tick)
    for (const { messageId, step } of now) begin(messageId, step)
    const missing = (tick * TICK_MS * aSecond) / 1_000 - sentAtMs.size
    const free = mostUnderWay - underWay.size
    for (let count = 0; count < Math.min(missing, free); count += 1) begin(`m${(messages += 1)}`, 0)
  }, TICK_MS)

  return {
    sentAtMs,
    answered,
    statuses,
    get slowestMs() {
      return slowestMs
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
      agent.destroy()
    },
  }
}

interface Begun {
  readonly name: string
  readonly late: boolean
  readonly attempt: number
  readonly atMs: number
}

/** The attempts that handlers of an instance began, in their order. */
function begunIn(log: string): readonly Begun[] {
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('begin '))
    .map((line) => {
      const [, , messageId = '', status = '', late, attempt, ns = '0'] = line.split(' ')
      return { name: `${messageId} ${status}`, late: late === 'late', attempt: Number(attempt), atMs: Number(ns) / 1e6 }
    })
}

/**
 * Names of what was answered 204 and never given to a handler, given twice for the first time, given as late, or in another
 * order than sent. A second attempt is none: what could not be settled before its lease was over comes again.
 */
export function faultsIn(log: string, { answered }: Pick<SteadyLoad, 'answered'>) {
  const begun = begunIn(log)
  const seen = new Set<string>()
  const twice: string[] = []
  const backwards: string[] = []
  const lastStep = new Map<string, number>()
  for (const { name, attempt } of begun) {
    if (attempt === 1 && seen.has(name)) twice.push(name)
    seen.add(name)
    const [messageId = '', status = ''] = name.split(' ')
    const step = STEPS.findIndex((one) => one === status)
    if (step < (lastStep.get(messageId) ?? 0)) backwards.push(name)
    lastStep.set(messageId, step)
  }
  return {
    lost: [...answered].filter((name) => !seen.has(name)),
    twice,
    backwards,
    late: begun.filter(({ late }) => late).map(({ name }) => name),
  }
}

/** How long handlers took to begin with what was sent between two moments, in milliseconds. */
export function lagsOf(
  log: string,
  { sentAtMs }: Pick<SteadyLoad, 'sentAtMs'>,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): { readonly count: number; readonly median: number; readonly longest: number } {
  const lags = begunIn(log)
    .flatMap(({ name, atMs }) => {
      const sent = sentAtMs.get(name) ?? -Infinity
      return sent >= fromMs && sent < untilMs ? [atMs - sent] : []
    })
    .toSorted((a, b) => a - b)
  return { count: lags.length, median: lags[Math.floor(lags.length / 2)] ?? NaN, longest: lags.at(-1) ?? NaN }
}

/** Whether a spool's folder has a file with records in it. */
export function holdsAnything(spool: string): boolean {
  return existsSync(spool) && readdirSync(spool, { recursive: true }).some((name) => String(name).endsWith('.segment'))
}
