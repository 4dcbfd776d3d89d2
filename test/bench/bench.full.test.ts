/** The benchmark: it runs, prints and writes its measurements, and fails on a wrong answer. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { runRounds } from '../../bench/measure/rounds.ts'
import { CONTENDERS } from '../../bench/contenders/table.ts'
import { PROGRAMS } from '../../bench/programs/table.ts'

const folder = mkdtempSync(join(tmpdir(), 'bench-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SLOW_MACHINE_MS = 120_000
const ONE_ROUND = { rounds: 1, warmUps: 0, callbacks: 50, connections: 4 } as const

async function bench(...args: readonly string[]): Promise<string> {
  return benchWith({}, ...args)
}

async function benchWith(env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<string> {
  const options = { env: { ...process.env, ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/main.ts', ...args], options)
  return stdout
}

test(
  'one quick round prints a table and writes its measurements',
  async () => {
    const [json, svg] = [join(folder, 'peers.json'), join(folder, 'peers.svg')]
    const text = await bench(
      ...['peers', '--quick', '--rounds', '1', '--warm-ups', '0', '--callbacks', '100', '--connections', '4'],
      ...['--only', 'node-http-verified,node-http-memory,octokit', '--json', json, '--svg', svg],
    )
    expect(text).toContain(CONTENDERS['node-http-memory'].label)
    const { programs } = JSON.parse(await readFile(json, 'utf8')) as {
      programs: { peers: readonly { contender: string; samples: readonly Record<string, number>[] }[] }
    }
    expect(programs.peers.map(({ contender }) => contender)).toEqual([
      'node-http-verified',
      'node-http-memory',
      'octokit',
    ])
    for (const { samples } of programs.peers) {
      expect(samples).toHaveLength(1)
      for (const figure of ['microseconds', 'cpuMicroseconds', 'p50Ms', 'p99Ms', 'rssBytes', 'heapBytes'])
        expect(samples[0]?.[figure]).toBeGreaterThan(0)
    }
    expect(await readFile(svg, 'utf8')).toContain('</svg>')
  },
  SLOW_MACHINE_MS,
)

test(
  'a wrong status fails the run',
  async () => {
    const forgedButExpectedToBeAccepted = {
      label: 'forged',
      contender: 'node-http-memory',
      scheme: 'forged-digest',
      expect: 204,
    } as const
    await expect(runRounds([forgedButExpectedToBeAccepted], ONE_ROUND)).rejects.toThrow('answered 401 instead of 204')
  },
  SLOW_MACHINE_MS,
)

test(
  'a callback without a handler call fails the run',
  async () => {
    // Refused, as expected, but reported as handled.
    const lane = { label: 'forged', contender: 'node-http-memory', scheme: 'forged-key', expect: 401 } as const
    await expect(runRounds([lane], ONE_ROUND)).rejects.toThrow('handlers got 0 of 50')
  },
  SLOW_MACHINE_MS,
)

test(
  'the help names every program and every contender, and unknown names are refused',
  async () => {
    const help = await bench('--help')
    for (const name of [...Object.keys(PROGRAMS), ...Object.keys(CONTENDERS)]) expect(help).toContain(`  ${name} `)
    await expect(bench('peers', '--only', 'missing')).rejects.toThrow('There is no contender “missing”')
    await expect(bench('nothing')).rejects.toThrow('There is no program “nothing”')
    await expect(bench('--rounds', '0')).rejects.toThrow('--rounds is 0')
  },
  SLOW_MACHINE_MS,
)
