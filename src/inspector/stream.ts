/** What changes, to every page that is open: worked out once a second at most for all of them, and not at all for none. */
import type { Clock } from '../clock.ts'
import type { Quarantine } from '../quarantine/surface.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import { answer, problem, type Answer, type Sink } from './answer.ts'
import type { Looking } from './looking.ts'
import { backlogOf, countsOf } from './reading.ts'
import type { Change } from './shapes.ts'

const MOST_STREAMS = 100
const TICK_MS = 1_000
/** What stands between ends a connection on which nothing comes. */
const HEARTBEAT_MS = 15_000
const RETRY_MS = 3_000

interface StreamParts {
  readonly clock: Clock
  readonly looking: Looking
  readonly quarantine: Pick<Quarantine, 'counts'>
}

interface Streams {
  /** GET api/stream. */
  open(): Answer
  /** Ends all of them; there are none any more. */
  close(): void
}

export function createStreams({ clock, looking, quarantine }: StreamParts): Streams {
  const { watcher, read } = looking
  const sinks = new Set<Sink>()
  let isClosed = false
  let isTicking = false
  let cancelTimer: (() => void) | undefined
  let place = 0
  let lastSaid = ''
  let lastAtMs = 0

  async function change(): Promise<Change> {
    const reading = await read()
    const counts = quarantine.counts()
    const { deadLetters } = reading.stats
    const changed = watcher.changesSince(place)
    place = watcher.place
    return {
      counts: countsOf(reading.stats),
      backlog: backlogOf(reading),
      ...(deadLetters !== undefined && { deadLetters }),
      quarantined: QUARANTINE_CLASSES.reduce((all, name) => all + counts[name], 0),
      ...changed,
    }
  }

  /** The same is not said twice. */
  async function tick(): Promise<void> {
    const said = `event: change\ndata: ${JSON.stringify(await change())}\n\n`
    const nowMs = clock.now()
    if (said !== lastSaid) send(said, nowMs)
    else if (nowMs - lastAtMs >= HEARTBEAT_MS) send(': still here\n\n', nowMs)
    lastSaid = said
  }

  function send(text: string, nowMs: number): void {
    lastAtMs = nowMs
    for (const sink of sinks) sink.write(text)
  }

  function goOn(): void {
    if (isTicking || cancelTimer !== undefined || isClosed || sinks.size === 0) return
    cancelTimer = clock.setTimer(() => {
      cancelTimer = undefined
      isTicking = true
      // What it asks does not reject; where something does all the same, the next one may go well.
      void tick()
        .catch(() => {})
        .then(() => {
          isTicking = false
          goOn()
        })
    }, TICK_MS)
  }

  function stopTimer(): void {
    cancelTimer?.()
    cancelTimer = undefined
  }

  function leave(sink: Sink): void {
    sinks.delete(sink)
    if (sinks.size === 0) stopTimer()
  }

  return {
    open() {
      if (isClosed) return problem(503, 'receiver_closed', 'The receiver is closing.')
      if (sinks.size >= MOST_STREAMS)
        return problem(503, 'too_many_pages', `There are ${MOST_STREAMS} open pages already; close some.`)
      const headers = {
        'content-type': 'text/event-stream; charset=utf-8',
        // Neither compressed nor held back on its way.
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      }
      return answer(200, headers, {
        stream(sink) {
          // Several may have come at once.
          if (sinks.size >= MOST_STREAMS || isClosed) {
            sink.end()
            return () => {}
          }
          if (sinks.size === 0) place = watcher.place
          sinks.add(sink)
          sink.write(`retry: ${RETRY_MS}\n: hello\n\n`)
          // Whoever comes later has not heard what was said last.
          lastSaid = ''
          goOn()
          return () => leave(sink)
        },
      })
    },
    close() {
      isClosed = true
      stopTimer()
      for (const sink of sinks) sink.end()
      sinks.clear()
    },
  }
}
