/** What an app wrote down in all its lives, compared with what the service knows and with what must hold. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CRASH_POINTS, HANDLERS_LOG, type CrashPoint } from './crash-plan.ts'
import { STATES, type ServiceRecord } from './killing.ts'

interface Verdict {
  /** Answered 204, but no handler has ended with it. */
  readonly lost: readonly string[]
  /** In the store for sure, though nobody was told, and no handler has ended with it. */
  readonly forgotten: readonly string[]
  /** Handed over after a later state of its message, or as late. */
  readonly backwards: readonly string[]
  /** Handed over again though its last attempt was settled, or in the same life. */
  readonly unexplained: readonly string[]
  /** Lives by the point at which they ended themselves. */
  readonly points: ReadonlyMap<CrashPoint, number>
  readonly summary: string
}

interface Attempt {
  readonly name: string
  readonly life: number
  ended: boolean
  settled: boolean
}

export function readHandlersLog(folder: string, record: ServiceRecord): Verdict {
  const attempts = new Map<string, Attempt>()
  const lastPlace = new Map<string, number>()
  const committed = new Set<string>()
  const done = new Set<string>()
  const points = new Map<CrashPoint, number>()
  const backwards: string[] = []
  const unexplained: string[] = []
  const again = { midway: 0, unsettled: 0 }
  let life = 0

  function begin(id: string, messageId: string, status: string): void {
    const name = `${messageId} ${status}`
    const before = attempts.get(id)
    if (before !== undefined) {
      if (before.settled || before.life === life) unexplained.push(name)
      else again[before.ended ? 'unsettled' : 'midway'] += 1
    }
    attempts.set(id, { name, life, ended: false, settled: false })
    const place = STATES.findIndex((state) => state === status)
    if (place < (lastPlace.get(messageId) ?? 0)) backwards.push(name)
    lastPlace.set(messageId, place)
  }

  for (const line of readFileSync(join(folder, HANDLERS_LOG), 'utf8').trim().split('\n')) {
    const [what = '', id = '', messageId = '', status = ''] = line.split(' ')
    const attempt = attempts.get(id)
    if (what === 'life') life += 1
    else if (what === 'committed') committed.add(id)
    else if (what === 'begin') begin(id, messageId, status)
    else if (what === 'end' && attempt !== undefined) {
      attempt.ended = true
      done.add(id)
    } else if (what === 'settled' && attempt !== undefined) attempt.settled = true
    else if (what === 'at')
      for (const point of CRASH_POINTS) if (point === id) points.set(point, (points.get(point) ?? 0) + 1)
  }

  const doneNames = new Set([...attempts].filter(([id]) => done.has(id)).map(([, { name }]) => name))
  const lost = [...record.answered].filter((name) => !doneNames.has(name))
  const unanswered = [...doneNames].filter((name) => !record.answered.has(name)).length
  return {
    lost,
    forgotten: [...committed].filter((id) => !done.has(id)),
    backwards,
    unexplained,
    points,
    summary:
      `${record.sent} callbacks sent, ${record.answered.size} answered 204, ${lost.length} lost; ` +
      `${attempts.size} handed over, ${unanswered} of them unanswered, ${backwards.length} in the wrong order; ` +
      `${again.midway + again.unsettled} run again (${again.midway} in the middle of a handler at the kill, ` +
      `${again.unsettled} after it, but before they were settled), ${unexplained.length} without such a reason`,
  }
}
