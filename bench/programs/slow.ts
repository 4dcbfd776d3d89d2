/** What do clients that send large bodies slowly cost other callbacks, and how much memory do they take? */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pace } from '../load/hold.ts'
import { startLoad } from '../load/load.ts'
import { mebibytes } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import { startServer } from '../server/server.ts'
import type { Settings } from '../settings.ts'

const BODY_BYTES = 250_000
const SLOW_CLIENTS = [300, 1_000]
const QUICK_CLIENTS = [50]

/** The pace of each client. None ever sends its last byte; a client that is cut off reconnects at once. */
const PACES: Readonly<Record<string, Pace>> = {
  'no clients': { firstBytes: 0, pieceBytes: 0, everyMs: 0 },
  '25 KB/s': { firstBytes: 0, pieceBytes: 2_500, everyMs: 100 },
  '40 KB/s': { firstBytes: 0, pieceBytes: 4_000, everyMs: 100 },
  'all at once, then silence': { firstBytes: BODY_BYTES - 1, pieceBytes: 0, everyMs: 0 },
  'one chunk, then silence': { firstBytes: 65_536, pieceBytes: 0, everyMs: 0 },
  'a chunk at intervals': { firstBytes: 65_536, pieceBytes: 32_768, everyMs: 1_500 },
  'a byte at intervals': { firstBytes: 20_000, pieceBytes: 1, everyMs: 90 },
}

/** Callbacks sent meanwhile: small ones of about 300 bytes, and large ones. */
const SMALL = { rate: 100, seconds: 10, connections: 100, bodyBytes: undefined }
const LARGE = { rate: 2, seconds: 10, connections: 20, bodyBytes: 200_000 }
const QUICK_SECONDS = 2
/** Gives the slow clients time to hold all they can before the first callback arrives. */
const AHEAD_MS = 3_000
const WEIGHED_EVERY_MS = 100

export async function runSlow({ quick, only }: Settings): Promise<Report> {
  const measured: Measured[] = []
  for (const clients of quick ? QUICK_CLIENTS : SLOW_CLIENTS)
    for (const pace of Object.keys(PACES))
      if (only === undefined || only.includes(pace)) measured.push(await measure(clients, pace, quick))
  return {
    title: 'Slow clients',
    notes: [
      `Each slow client sends a body of ${BODY_BYTES} bytes without the last one at its pace, and reconnects when it is cut off.`,
      `Meanwhile ${SMALL.rate} callbacks of about 300 bytes and ${LARGE.rate} of ${LARGE.bodyBytes} bytes arrive each second; all of them ` +
        'must be answered 204. RSS: the largest increase seen, garbage included. held: what buffers hold at the end, after a collection. `maxInflightBytes` is 64 MiB.',
      'Targets: small ones within 200 ms (p99), none above 1 s.',
    ],
    tables: [
      {
        head: [
          'pace',
          'clients',
          'p50 ms',
          'p99 ms',
          'max ms',
          'large p50',
          'large max',
          'RSS MiB',
          'held MiB',
          'cut off/s',
        ],
        rows: measured.map(({ pace, clients, small, large, rssBytes, heldBytes, cutOffPerSecond }) => [
          pace,
          String(clients),
          ...[small.p50Ms, small.p99Ms, small.maxMs, large.p50Ms, large.maxMs].map((ms) => ms.toFixed(1)),
          `+${mebibytes(rssBytes)}`,
          mebibytes(heldBytes),
          cutOffPerSecond.toFixed(0),
        ]),
      },
    ],
    data: measured,
  }
}

interface Latencies {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

interface Measured {
  readonly pace: string
  readonly clients: number
  readonly small: Latencies
  readonly large: Latencies
  readonly rssBytes: number
  readonly heldBytes: number
  readonly cutOffPerSecond: number
}

async function measure(clients: number, pace: string, quick: boolean): Promise<Measured> {
  const [holding, small, large] = [startLoad(), startLoad(), startLoad()]
  const server = await startServer('node-http-memory')
  const weighing = new AbortController()
  try {
    const callbacks = [
      { load: small, ...SMALL, seconds: quick ? QUICK_SECONDS : SMALL.seconds },
      { load: large, ...LARGE, seconds: quick ? QUICK_SECONDS : LARGE.seconds },
    ] as const
    for (const { load, rate, seconds, bodyBytes } of callbacks) await load.make({ count: rate * seconds, bodyBytes })
    const before = await server.settled(0, { gc: true })
    let rssBytes = before.rssBytes
    const weighed = (async () => {
      while (!weighing.signal.aborted) {
        rssBytes = Math.max(rssBytes, (await server.weigh()).rssBytes)
        await sleep(WEIGHED_EVERY_MS)
      }
    })()
    const startedAtMs = performance.now()
    const how = PACES[pace] ?? { firstBytes: 0, pieceBytes: 0, everyMs: 0 }
    await holding.hold({
      port: server.port,
      connections: pace === 'no clients' ? 0 : clients,
      bodyBytes: BODY_BYTES,
      pace: how,
    })
    await sleep(AHEAD_MS)
    const [ofSmall, ofLarge] = await Promise.all(
      callbacks.map(({ load, rate, connections }) =>
        load.send({ ports: [server.port], scheme: 'service', connections, expect: 204, rate }),
      ),
    )
    weighing.abort()
    await weighed
    const held = (await server.weigh({ gc: true })).bufferBytes - before.bufferBytes
    const cutOff = await holding.release()
    const seconds = (performance.now() - startedAtMs) / 1_000
    if (ofSmall === undefined || ofLarge === undefined) throw new Error('Both kinds are sent.')
    return {
      pace,
      clients,
      small: ofSmall,
      large: ofLarge,
      rssBytes: rssBytes - before.rssBytes,
      heldBytes: held,
      cutOffPerSecond: cutOff / seconds,
    }
  } finally {
    weighing.abort()
    for (const load of [holding, small, large]) load.stop()
    await server.close()
  }
}
