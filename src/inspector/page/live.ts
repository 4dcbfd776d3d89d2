/** Hears of changes while the page is looked at: by the server's stream, and where that fails by asking again and again. */
import type { Change, Overview } from '../shapes.ts'
import { askOverview, NoAnswer, STREAM } from './asking.ts'
import { after, now } from './clock.ts'

/** `live`: the stream is open. `asking`: it is not, and answers come. `lost`: nobody answers. `refused`: not for this reader. */
export type Connection = 'connecting' | 'live' | 'asking' | 'lost' | 'refused' | 'paused'

interface Ears {
  readonly onConnection: (connection: Connection) => void
  readonly onChange: (change: Change) => void
  /** Whatever came meanwhile was not heard of. */
  readonly onGap: () => void
  readonly onOverview: (overview: Overview) => void
}

interface Live {
  readonly connection: () => Connection
  readonly togglePause: () => void
}

/** Between two answers, while the stream cannot be had. */
const ASK_EVERY_MS = 5_000
const FIRST_DELAY_MS = 2_000
const LONGEST_DELAY_MS = 30_000
/** A proxy that holds a stream back never opens it. */
const LONGEST_OPENING_MS = 10_000
/** A stream that failed is not tried again sooner. */
const STREAM_AGAIN_MS = 30_000

export function listen({ onConnection, onChange, onGap, onOverview }: Ears): Live {
  let connection: Connection = 'connecting'
  let source: EventSource | undefined
  let cancel = (): void => {}
  let failures = 0
  let triedAtMs = -Infinity
  let isPaused = false
  /** Whoever answers to an earlier one is not heard. */
  let round = 0

  function become(next: Connection): void {
    if (next === connection) return
    connection = next
    onConnection(next)
  }

  function stop(): void {
    round += 1
    cancel()
    source?.close()
    source = undefined
  }

  function openStream(): void {
    stop()
    triedAtMs = now()
    const opened = new EventSource(STREAM)
    source = opened
    cancel = after(LONGEST_OPENING_MS, onEnd)
    opened.onopen = () => {
      cancel()
      become('live')
      onGap()
    }
    opened.addEventListener('change', ({ data }) => onChange(JSON.parse(String(data)) as Change)) // Our server's shape.
    opened.onerror = onEnd
  }

  function onEnd(): void {
    askAfter(0)
    if (connection === 'live') become('connecting')
  }

  function askAfter(delayMs: number): void {
    stop()
    cancel = after(delayMs, () => void askOnce())
  }

  async function askOnce(): Promise<void> {
    const mine = round
    try {
      const overview = await askOverview()
      if (mine !== round) return
      onOverview(overview)
      const wasLost = failures > 0
      failures = 0
      if (wasLost || now() - triedAtMs >= STREAM_AGAIN_MS) {
        openStream()
      } else {
        become('asking')
        askAfter(ASK_EVERY_MS)
      }
    } catch (error) {
      if (mine !== round) return
      askAfter(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures))
      failures += 1
      become(error instanceof NoAnswer && (error.status === 401 || error.status === 403) ? 'refused' : 'lost')
    }
  }

  function begin(): void {
    if (isPaused || document.hidden) return
    failures = 0
    openStream()
  }

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stop()
    else begin()
  })
  begin()

  return {
    connection: () => connection,
    togglePause() {
      isPaused = !isPaused
      if (isPaused) stop()
      become(isPaused ? 'paused' : 'connecting')
      begin()
    },
  }
}
