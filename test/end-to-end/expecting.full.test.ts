/** kill -9 at every step between a send and the word that nothing came of it: nothing is forgotten, and each is overdue once. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { runProgram } from '../support/program.ts'
import { onEachEngine } from './cluster/on-each-engine.ts'

const APP = join(import.meta.dirname, 'programs/expecting-app.ts')
const MESSAGES = 20

/** Where a handler has run of which the store does not know it. */
const HANDED = new Set(['in-handler', 'before-settlement'])
const POINTS = [
  'before-expect',
  'after-expect',
  'after-overdue',
  'in-admission',
  'after-admission',
  'in-handler',
  'before-settlement',
  'after-settlement',
]

onEachEngine(
  ['sqlite', 'postgres', 'redis'],
  'a process that is killed between a send and the word of it forgets nothing, and tells each once',
  async ({ server, context }) => {
    const folder = mkdtempSync(join(tmpdir(), 'expecting-'))
    context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const log = join(folder, 'log')
    const plan = { spec: server.spec('expecting'), log, messages: MESSAGES }
    const live = async (point?: string) => runProgram('npx', ['node', APP, JSON.stringify({ ...plan, point })])
    for (const point of POINTS) await live(point)
    const last = await live()
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n')
    expect(last.code, last.stderr).toBe(0)
    expect(lines.at(-1)).toBe('over')
    const killed = lines.filter((line) => line.startsWith('killed ')).map((line) => line.slice('killed '.length))
    expect(killed.slice(0, 3)).toEqual(POINTS.slice(0, 3))
    const told = lines.filter((line) => line.startsWith('overdue ')).map((line) => line.split(' '))
    const idsOf = new Map<string, Set<string>>()
    for (const [, messageId = '', id = ''] of told) idsOf.set(messageId, (idsOf.get(messageId) ?? new Set()).add(id))
    expect(idsOf.size).toBe(MESSAGES)
    expect([...idsOf.values()].every((ids) => ids.size === 1)).toBe(true)
    // One that runs as its process is killed runs again.
    const again = killed.filter((point) => HANDED.has(point)).length
    expect(told.length).toBeGreaterThanOrEqual(MESSAGES)
    expect(told.length).toBeLessThanOrEqual(MESSAGES + again + killed.length)
  },
)
