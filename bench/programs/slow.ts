/** What do a thousand slow clients cost in memory, each with a large body under way? */
import { startLoad } from '../load/load.ts'
import { mebibytes } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import { startServer } from '../server/server.ts'
import type { Settings } from '../settings.ts'

const CONNECTIONS = 1_000
const QUICK_CONNECTIONS = 50
const BODY_BYTES = 256 * 1_024

export async function runSlow({ quick }: Settings): Promise<Report> {
  const connections = quick ? QUICK_CONNECTIONS : CONNECTIONS
  const load = startLoad()
  const server = await startServer('node-http-memory')
  try {
    const before = await server.settled(0, { gc: true })
    await load.hold({ port: server.port, connections, bodyBytes: BODY_BYTES })
    const during = await server.settled(0, { gc: true })
    await load.release()
    const rows = (['rssBytes', 'heapBytes', 'bufferBytes'] as const).map((figure) => [
      figure.replace('Bytes', ''),
      mebibytes(before[figure]),
      mebibytes(during[figure]),
    ])
    return {
      title: 'Memory of slow connections',
      notes: [
        `${connections} connections, each with all but the last byte of a body of ${BODY_BYTES / 1_024} KiB: ` +
          `${mebibytes(connections * BODY_BYTES)} MiB in all. Reading pauses at \`maxInflightBytes\`, 64 MiB by default.`,
      ],
      tables: [{ head: ['MiB of the server', 'before', 'during'], rows }],
      data: { connections, bodyBytes: BODY_BYTES, before, during },
    }
  } finally {
    load.stop()
    await server.close()
  }
}
