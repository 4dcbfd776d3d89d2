/** The parts of the benchmark that only reckon: what they are given is written out here. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { expect, test } from 'vitest'
import { familyCpuMs, parseStat, processStat } from '../../bench/database/proc-stat.ts'
import { cpuMsOf } from '../../bench/database/redis-cpu.ts'
import { openSpread } from '../../bench/load/connection.ts'
import { makeReports } from '../../bench/load/requests.ts'
import type { Sample } from '../../bench/measure/rounds.ts'
import { besideFirst } from '../../bench/programs/lanes.ts'
import { sumOf } from '../../bench/server/servers.ts'
import { readSettings } from '../../bench/settings.ts'
import { titleWith } from '../support/skipping.ts'

test('the CPU time of a process is read behind its name, whatever that is', () => {
  // utime, stime, cutime and cstime are the fields 14 to 17, in hundredths of a second.
  const stat = '42 (a (b) c) S 7 42 42 0 -1 4194560 2064 0 0 0 11 22 33 44 20 0 1 0 265 224055296 6973'
  expect(parseStat(stat)).toEqual({ name: 'a (b) c', parent: 7, cpuMs: 330, endedChildrenCpuMs: 770 })
})

test('no process, no figure', () => {
  expect(processStat(2 ** 30)).toBeUndefined()
})

test.skipIf(process.platform !== 'linux')(
  titleWith(
    process.platform === 'linux' ? undefined : 'it needs /proc',
    'a process that waits for its child has used no less than the child',
  ),
  async () => {
    const busy = 'const until = Date.now() + 300; while (Date.now() < until);'
    const parent = spawn(process.execPath, [
      '-e',
      `require('node:child_process').execFileSync(process.execPath, ['-e', '${busy}']); console.log('done'); setInterval(() => {}, 1000)`,
    ])
    try {
      await once(parent.stdout, 'data')
      const pid = parent.pid ?? 0
      expect(familyCpuMs(pid)).toBeGreaterThan(processStat(pid)?.cpuMs ?? Infinity)
    } finally {
      parent.kill()
    }
  },
)

test('Redis tells seconds of two kinds, and of its threads and forks apart', () => {
  const info =
    '# CPU\r\nused_cpu_sys:2.5\r\nused_cpu_user:1.25\r\nused_cpu_sys_children:9\r\nused_cpu_user_children:9\r\n'
  expect(cpuMsOf(info)).toBe(3_750)
})

test('each message has a report of each status, the first one before the second', () => {
  const reports = makeReports({ count: 1_000, statuses: ['queued', 'success'] })
  const statusesOf = new Map<unknown, unknown[]>()
  for (const { messageId, status } of reports) statusesOf.set(messageId, [...(statusesOf.get(messageId) ?? []), status])
  expect(statusesOf.size).toBe(600)
  const all = [...statusesOf.values()].map((statuses) => statuses.join())
  expect(all.filter((statuses) => statuses === 'queued,success')).toHaveLength(400)
  // The last two hundred messages have no second report: the thousand was full.
  expect(all.filter((statuses) => statuses === 'queued')).toHaveLength(200)
})

test('each report is of a message of its own where nothing else is asked for', () => {
  const reports = makeReports({ count: 500 })
  expect(new Set(reports.map(({ messageId }) => messageId)).size).toBe(500)
  expect(new Set(reports.map(({ status }) => status))).toEqual(new Set(['success']))
})

test('requests are spread over all servers, and each is answered once', async () => {
  const counts = [0, 0, 0]
  const servers = counts.map((_, index) =>
    createServer((_request, response) => {
      counts[index] = (counts[index] ?? 0) + 1
      response.writeHead(204).end()
    }),
  )
  const ports = await Promise.all(servers.map(portOf))
  const connection = await openSpread(ports, (error) => {
    throw error
  })
  const request = Buffer.from('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
  for (let sent = 0; sent < 300; sent += 1) {
    const status = await new Promise<number>((resolve) => connection.send(request, resolve))
    expect(status).toBe(204)
  }
  connection.close()
  for (const server of servers) server.close()
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(300)
  // A hundred each; less than fifty would be more than seven standard deviations away.
  for (const count of counts) expect(count).toBeGreaterThan(50)
})

test('several processes cost what they cost together, and end with the last', () => {
  const state = { lastHandledAtMs: 5, cpuMs: 1, rssBytes: 2, heapBytes: 3, bufferBytes: 4 }
  expect(sumOf([state, { ...state, lastHandledAtMs: 9 }])).toEqual({
    lastHandledAtMs: 9,
    cpuMs: 2,
    rssBytes: 4,
    heapBytes: 6,
    bufferBytes: 8,
  })
})

test('the database has columns only where its CPU time is known, and no figure where it is not', () => {
  const lane = { label: 'a', contender: 'node-http-memory' } as const
  const without = besideFirst('rows', [{ lane, samples: [sample(undefined)] }])
  expect(without.head).not.toContain('µs DB')
  const one = { lane, samples: [sample(40)] }
  const two = { lane, samples: [sample(60)] }
  const { head, rows } = besideFirst('rows', [one, two, { lane, samples: [sample(undefined)] }])
  const column = (name: string): readonly (string | undefined)[] => rows.map((row) => row[head.indexOf(name)])
  expect(column('µs DB')).toEqual(['40.0', '60.0', ''])
  expect(column('DB cost')).toEqual(['1.00 (1.00-1.00)', '1.50 (1.50-1.50)', ''])
})

test('all programs take less of each, unless somebody says otherwise', () => {
  expect(readSettings([])?.settings).toMatchObject({ rounds: 11, warmUps: 3, callbacks: 10_000, known: undefined })
  expect(readSettings(['all'])?.settings).toMatchObject({ rounds: 5, warmUps: 2, callbacks: 5_000 })
  expect(readSettings(['all', '--rounds', '7'])?.settings).toMatchObject({ rounds: 7, warmUps: 2 })
  expect(readSettings(['all', '--quick'])?.settings).toMatchObject({ rounds: 3, warmUps: 1, callbacks: 1_000 })
  expect(readSettings(['known', '--known', '10,10000000'])?.settings.known).toEqual([10, 10_000_000])
  expect(() => readSettings(['--known', '10,many'])).toThrow('--known is many')
})

function sample(databaseMicroseconds: number | undefined): Sample {
  return {
    microseconds: 100,
    cpuMicroseconds: 50,
    databaseMicroseconds,
    p50Ms: 1,
    p99Ms: 2,
    rssBytes: 1,
    heapBytes: 1,
    loadCpuShare: 0.5,
  }
}

async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('It listens on no port.')
  return address.port
}
