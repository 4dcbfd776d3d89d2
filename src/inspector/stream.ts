/** Changes, to every page that is open: worked out once a second at most for all of them, and not at all while there is none. */
import type { Clock } from '../runtime/clock.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Quarantine } from '../quarantine/surface.ts'
import type { Rights } from './options.ts'
import { backlogOf, countsOf, type Looking } from './overview.ts'
import { problem, reply, type Asked, type RightsOf } from './server.ts'
import type { Change } from './shapes.ts'

const MOST_STREAMS = 100
const TICK_MS = 1_000
/** A proxy ends a connection on which nothing comes. */
const HEARTBEAT_MS = 15_000
const RETRY_MS = 3_000
/** `authorize` is asked again of each open page. */
const AUTHORIZE_EVERY_MS = 30_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Neither compressed nor held back on its way.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

interface StreamParts {
  readonly clock: Clock
  readonly looking: Looking
  readonly quarantine: Pick<Quarantine, 'counts'>
  readonly rightsOf: RightsOf
}

interface Streams {
  /** GET api/stream. */
  open(asked: Asked, rights: Rights): Response
  /** Ends all of them, and lets nobody in any more. */
  close(): void
}

/** An open page. */
interface Reader {
  write(text: string): void
  end(): void
}

export function createStreams({ clock, looking, quarantine, rightsOf }: StreamParts): Streams {
  const { watcher, read } = looking
  const readers = new Set<Reader>()
  let isClosed = false
  let isTicking = false
  let cancelTimer: (() => void) | undefined
  let place = 0
  let lastSaid = ''
  let lastAtMs = 0

  async function change(): Promise<Change> {
    const reading = await read()
    const counts = quarantine.counts()
    const changed = watcher.changesSince(place)
    place = watcher.place
    return {
      counts: countsOf(reading.stats),
      backlog: backlogOf(reading),
      deadLetters: reading.stats.deadLetters,
      quarantined: QUARANTINE_CLASSES.reduce((all, name) => all + counts[name], 0),
      ...changed,
    }
  }

  /** Skips an event that repeats the last one. */
  async function tick(): Promise<void> {
    const said = `event: change\ndata: ${JSON.stringify(await change())}\n\n`
    const isNews = said !== lastSaid
    lastSaid = said
    if (!isNews && clock.now() - lastAtMs < HEARTBEAT_MS) return
    lastAtMs = clock.now()
    for (const reader of readers) reader.write(isNews ? said : ': still here\n\n')
  }

  function goOn(): void {
    if (isTicking || cancelTimer !== undefined || isClosed || readers.size === 0) return
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

  /** Ends the stream once its reader may do something else than at its beginning; the page asks for its session again then. */
  function watchRights(asked: Asked, rights: Rights, end: () => void): () => void {
    let isOver = false
    let cancel = (): void => {}
    function askLater(): void {
      cancel = clock.setTimer(() => {
        void rightsOf(asked).then((now) => {
          if (isOver) return
          const isSame = 'write' in now && now.write === rights.write && now.reveal === rights.reveal
          if (isSame) askLater()
          else end()
        })
      }, AUTHORIZE_EVERY_MS)
    }
    askLater()
    return () => {
      isOver = true
      cancel()
    }
  }

  /** Returns what is called once the reader has gone. */
  function begin(reader: Reader, asked: Asked, rights: Rights): () => void {
    // Several may have come at once.
    if (readers.size >= MOST_STREAMS || isClosed) {
      reader.end()
      return () => {}
    }
    if (readers.size === 0) place = watcher.place
    readers.add(reader)
    reader.write(`retry: ${RETRY_MS}\n: hello\n\n`)
    // A page that comes later has not got the last event.
    lastSaid = ''
    goOn()
    function leave(): void {
      readers.delete(reader)
      stopWatching()
      if (readers.size === 0) stopTimer()
    }
    const stopWatching = watchRights(asked, rights, () => {
      leave()
      reader.end()
    })
    return leave
  }

  /** Begins with the first read, and ends with the request: an answer that nobody reads holds no place. */
  function streamFor(asked: Asked, rights: Rights): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    let isOver = false
    let leave: (() => void) | undefined
    function stop(): void {
      isOver = true
      leave?.()
      asked.signal?.removeEventListener('abort', stop)
    }
    return new ReadableStream<Uint8Array>(
      {
        start: () => asked.signal?.addEventListener('abort', stop),
        pull(controller) {
          if (isOver) return
          leave ??= begin(
            {
              write(text) {
                // One event may wait to be read: a slow reader misses the others, and the next one has the same counts.
                if (!isOver && (controller.desiredSize ?? 0) >= 0) controller.enqueue(encoder.encode(text))
              },
              end() {
                if (!isOver) controller.close()
                isOver = true
              },
            },
            asked,
            rights,
          )
        },
        cancel: stop,
      },
      { highWaterMark: 0 },
    )
  }

  return {
    open(asked, rights) {
      if (isClosed) return problem(503, 'receiver_closed', 'The receiver is closing.')
      if (readers.size >= MOST_STREAMS)
        return problem(503, 'too_many_pages', `There are ${MOST_STREAMS} open pages already; close some.`)
      return reply(200, HEADERS, streamFor(asked, rights))
    },
    close() {
      isClosed = true
      stopTimer()
      for (const reader of readers) reader.end()
      readers.clear()
    },
  }
}
