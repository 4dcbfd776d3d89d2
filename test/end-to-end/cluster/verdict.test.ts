/** The judge of the cluster tests finds what is wrong: logs by hand, each with one fault. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { ServiceRecord } from './service.ts'
import { judge, NOTHING_WRONG, type Verdict } from './verdict.ts'

type LifeLog = readonly string[] | { readonly killed: readonly string[] }

/** Each life is a log: `what id … time`, the time in milliseconds. */
function verdictOn(answered: readonly string[], ...logs: readonly LifeLog[]): Verdict {
  const folder = mkdtempSync(join(tmpdir(), 'verdict-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const record: ServiceRecord = { sent: answered.length, answered: new Set(answered), statuses: new Map() }
  const lives = logs.map((log, index) => {
    const path = join(folder, `${index}.log`)
    const lines = 'killed' in log ? log.killed : log
    writeFileSync(path, lines.map((line) => `${line.replace(/(\d+)$/, '$1000000')}\n`).join(''))
    return { log: path, wasKilled: 'killed' in log }
  })
  return judge(lives, record)
}

const SENT = ['begin a chat-1 sent itself 1 1', 'end a 2', 'settled a done 3']
const DELIVERED = ['begin b chat-1 delivered itself 1 4', 'end b 5', 'settled b done 6']
const BOTH = ['chat-1 sent', 'chat-1 delivered']

test('nothing is wrong where each event ran once and in order, in whichever process', () => {
  expect(verdictOn(BOTH, SENT, DELIVERED)).toMatchObject({ ...NOTHING_WRONG, handled: 2 })
})

test('what was answered and never ended is lost; what nobody sent is invented', () => {
  expect(verdictOn(BOTH, SENT).lost).toEqual(['chat-1 delivered'])
  expect(verdictOn(BOTH, SENT, { killed: DELIVERED.slice(0, 1) }).lost).toEqual(['chat-1 delivered'])
  expect(verdictOn(['chat-1 sent'], SENT, DELIVERED).invented).toEqual(['chat-1 delivered'])
})

test('a repetition needs a kill before it was settled, or a lease that ran out', () => {
  const again = ['begin a chat-1 sent itself 2 10', 'end a 11']
  const long = ['begin a chat-1 sent itself 2 10002', 'end a 10003']
  const unsettled = SENT.slice(0, 2)
  expect(verdictOn(['chat-1 sent'], SENT, again).twice).toEqual(['chat-1 sent'])
  expect(verdictOn(['chat-1 sent'], unsettled, again).twice).toEqual(['chat-1 sent'])
  expect(verdictOn(['chat-1 sent'], { killed: SENT }, again).twice).toEqual(['chat-1 sent'])
  expect(verdictOn(['chat-1 sent'], SENT, long).twice).toEqual(['chat-1 sent'])
  expect(verdictOn(['chat-1 sent'], { killed: unsettled }, again)).toMatchObject(NOTHING_WRONG)
  expect(verdictOn(['chat-1 sent'], unsettled, long)).toMatchObject(NOTHING_WRONG)
})

test('two events of one message at once overlap, in one process or two', () => {
  const early = ['begin b chat-1 delivered itself 1 2', 'end b 5']
  const slow = ['begin a chat-1 sent itself 1 1', 'end a 3']
  expect(verdictOn(BOTH, slow, early).overlapping).toEqual(['chat-1 delivered'])
  expect(verdictOn(BOTH, slow, ['begin b chat-2 delivered itself 1 2', 'end b 5']).overlapping).toEqual([])
})

test('an older state after a later one is backwards as itself, and right as late; late before it is early', () => {
  const after = (how: string): readonly string[] => [`begin a chat-1 sent ${how} 1 7`, 'end a 8']
  expect(verdictOn(BOTH, DELIVERED, after('itself')).backwards).toEqual(['chat-1 sent'])
  expect(verdictOn(BOTH, DELIVERED, after('late'))).toMatchObject(NOTHING_WRONG)
  expect(verdictOn(BOTH, ['begin a chat-1 sent late 1 1', 'end a 2'], DELIVERED).early).toEqual(['chat-1 sent'])
  const claimedBefore = ['begin b chat-1 delivered itself 2 4', 'end b 5']
  expect(verdictOn(BOTH, ['begin a chat-1 sent late 1 1', 'end a 2'], claimedBefore)).toMatchObject(NOTHING_WRONG)
})
