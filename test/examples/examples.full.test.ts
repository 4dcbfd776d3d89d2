/** Each example runs as a process, ends by itself, and prints its result. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { runProgram, startProgram } from '../support/program.ts'
import { ownFolder } from '../support/own-folder.ts'

async function run(name: string, env: NodeJS.ProcessEnv = {}, TMPDIR = ownFolder()): Promise<string> {
  const { code, stdout, stderr } = await runProgram(process.execPath, [`examples/${name}.ts`], {
    env: { TMPDIR, ...env },
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** A busy machine may be slow. */
const TIMEOUT = { timeout: 120_000 }

const startFolder = mkdtempSync(join(tmpdir(), 'mw-start-'))
afterAll(() => rmSync(startFolder, { recursive: true }))
let startRun: Promise<string> | undefined
/** The output of `npm start`, shared by several tests because it takes some seconds. */
const start = (): Promise<string> => (startRun ??= run('start', {}, startFolder))

test('several projects: each with its own credentials, its own messages, and its old pair for a while', async () => {
  expect(await run('several-projects')).toBe(`My Shop: m-1 was delivered
  204 for m-1 of My Shop, signed with the secret-of-the-shop
My Bank: m-1 was delivered
  204 for m-1 of My Bank, signed with the new-secret-of-the-bank
My Bank: m-2 was delivered
  204 for m-2 of My Bank, signed with the old-secret-of-the-bank
refused: signature_mismatch
  401 for m-3 of My Bank, signed with the secret-of-the-shop
latest of m-1 in My Bank: success
`)
})

test('payments: typed by a schema, refused without a signature, and never dropped', async () => {
  const lines = (await run('payments-with-your-own-schema')).split('\n')
  expect(lines.slice(0, 4)).toEqual(['book 1250.00 KES', '  answered 204', 'payment pay-2 failed', '  answered 204'])
  expect(lines[4]).toContain('look at this: schema_refused')
  expect(lines.slice(-4)).toEqual(['  answered 204', 'refused: signature_mismatch', '  answered 401', ''])
})

test('plain Connect: two URLs, and the next middleware for everything else', async () => {
  const output = await run('plain-connect')
  expect(output).toContain('message.delivered: sms-1 by sms\n  answered 204')
  expect(output).toContain('message.sent: chat-1 by chat-app\n  answered 204')
  expect(output).toContain("text: 'Is it still there?'")
  expect(output).toMatch(/answered 404\n$/)
})

test('a store of your own: a repetition is answered, and handled once, also after a restart', async () => {
  expect(await run('store-of-your-own')).toBe(`message.delivered: sms-1
first time: 204 { duplicates: 0, unsettled: 0 }
second time: 204 { duplicates: 1, unsettled: 0 }
`)
})

test('Fastify: callbacks in an existing app, and one close for both', async () => {
  expect(await run('fastify')).toBe(`message.delivered: sms-1 by sms
  answered 204
paid: "pay-1"
  answered 204
  answered 403
closed: the store is closed
`)
})

test('AWS Lambda: the answer comes after the handler, once', async () => {
  const output = await run('lambda')
  expect(output).toBe(
    'message.delivered: sms-1\n  answered 204\n  answered 204\nrefused: signature_mismatch\n  answered 401\n',
  )
})

test('a one-time password: the code counts once, and a lost answer causes a new one', async () => {
  expect(await run('otp')).toBe(`999100000000: unknown_outcome, so another code is sent
999100000000: delivered
  refused, let in, refused
999110000002: delivered
  refused, let in, refused
999100000021: failed: delivery_impossible
999400000012: unsupported_number; ask for another number
`)
})

test('a campaign: every number is accounted for once, and a lost report is detected', TIMEOUT, async () => {
  const output = await run('campaign')
  const counts = (what: string): number => Number(new RegExp(`\\b${what}: (\\d+)`).exec(output)?.[1] ?? 0)
  expect(output).toMatch(/^All were tried \{/m)
  expect([counts('total'), counts('unsent'), counts('repeated'), counts('sent')]).toEqual([2_000, 0, 0, 2_000])
  expect(output).toContain('refused: { unsupported_number: 1 }')
  const [, failed = ''] = /failed: \{([^}]+)\}/.exec(output) ?? []
  const failures = [...failed.matchAll(/: (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0)
  const account = output.slice(output.indexOf('What became of them'))
  const ends = [...account.matchAll(/^ {2}(?:delivered|read|overdue|waiting|unknown): (\d+)/gm)]
  expect(ends.reduce((sum, [, count]) => sum + Number(count), failures + 1)).toBe(2_000)
  for (const what of ['delivered', 'overdue', 'unknown']) expect(counts(what), what).toBeGreaterThan(0)
  expect(output).toMatch(/^The first that are overdue: 254711\d{6}/m)
})

test('durable: an app that is killed repeatedly loses nothing', { timeout: 120_000 }, async () => {
  // On a busy machine its handlers may exceed their timeout, which the app logs.
  const env = { TMPDIR: ownFolder(), KILLS: '2' }
  const { code, stdout: output } = await runProgram(process.execPath, ['examples/durable.ts'], { env })
  expect(code).toBe(0)
  expect(output.match(/^kill -9 of process \d+, after \d+ callbacks were answered 204$/gm)).toHaveLength(2)
  expect(output).toContain('exited with 0\n')
  const [, answered, dispatched, missing] = /204: (\d+), dispatched: (\d+), missing: (\d+)/.exec(output) ?? []
  expect(Number(answered)).toBeGreaterThan(0)
  expect(Number(dispatched)).toBeGreaterThanOrEqual(Number(answered))
  expect(missing).toBe('0')
})

test('npm start keeps its inbox, and says how to inspect it', TIMEOUT, async () => {
  const [, file = ''] = /^ {2}npx node dist\/cli\/main\.js inspect --store (.+)$/m.exec(await start()) ?? []
  expect(readdirSync(startFolder).map((name) => join(startFolder, name, 'inbox.db'))).toEqual([file])
  expect(readdirSync(join(file, '..'))).toContain('inbox.db')
  const args = ['node', 'dist/cli/main.js', 'events', 'list', '--store', file, '--limit', '3', '--json']
  const { code, stdout } = await runProgram('npx', args)
  expect(code).toBe(0)
  expect(stdout.trimEnd().split('\n')).toHaveLength(3)
  expect(stdout).toContain('"type":"unrecognized"')
})

test('npm start -- --keep serves the inspector until it is interrupted', TIMEOUT, async () => {
  const { child, ended } = startProgram(process.execPath, ['examples/start.ts', '--keep'], {
    env: { TMPDIR: ownFolder() },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout?.on('data', (chunk) => (output += String(chunk)))
  const address = () => /^ {2}(http:\S+\/inspector\/)$/m.exec(output)?.[1] ?? ''
  await expect.poll(address).not.toBe('')
  const page = await fetch(address())
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const overview = (await (await fetch(`${address()}api/overview`)).json()) as { readonly stats: object }
  expect(overview.stats).toMatchObject({ accepted: 65, duplicates: 1, late: 1, refused: 3 })
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 0, stderr: '' })
})

test('npm start sends 50 messages, shows every kind of event, and its totals are right', TIMEOUT, async () => {
  const output = await start()
  const inOrder = ['message.sent', 'message.delivered', 'message.read'].map(
    (type) => new RegExp(`${type} +999300000001`),
  )
  for (const shown of [
    ...inOrder,
    / +└ 11 accepted, 1 unsupported_number\n/,
    / +└ 6 accepted, 1 queued\n/,
    /message\.queued +999300000003/,
    /message\.delivered +999110000002 +carrierA/,
    /message\.failed +999100001001 +transient, send it again/,
    /message\.failed +999100000027 +unreachable, no resend/,
    /message\.failed +999200000001 +permanent, no resend: Number not in use/,
    /late +sms-1 +message\.failed/,
    /received +254711000000 +Is it still there\?/,
    /handler_failed +The ledger is busy\. It will be tried again\.\n.*payment +pay-1 +1250 KES, at attempt 2/,
    /✗ 401.*one byte changed\n.*signature_mismatch/,
    /✗ 401.*other keys\n.*signature_mismatch/,
    /✗ 401.*an old signature\n.*signature_stale/,
    /posted twice\n.*posted twice +duplicate\n.*message\.delivered +sms-2/,
    /unrecognized +Neither the status word nor the status code/,
    ...['activate', 'consent', 'delivery', 'deactivate'].map((word) => new RegExp(`subscription\\.${word} `)),
  ])
    expect(output).toMatch(shown)
  const positions = inOrder.map((shown) => output.search(shown))
  expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  const arrived = output.slice(output.indexOf('Their events arrive'), output.indexOf('A customer writes and pays'))
  // Each of the thirty customers.
  expect(new Set(arrived.match(/2547110000\d\d/g)).size).toBe(30)

  const total = (name: string): number => Number(new RegExp(`^  ${name} +(\\d+) `, 'm').exec(output)?.[1])
  expect([total('messages'), total('callbacks')]).toEqual([50, 68])
  expect(total('accepted') + total('refused')).toBe(total('callbacks'))
  expect(total('dispatched')).toBe(total('accepted') - total('duplicates'))
  expect([total('duplicates'), total('late'), total('refused'), total('retried')]).toEqual([1, 1, 3, 1])
  for (const line of output.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
})

test('npm start is coloured on a terminal, and plain in a pipe or with NO_COLOR', TIMEOUT, async () => {
  const escape = '\u001B['
  expect(await start()).not.toContain(escape)
  expect(await run('start', { FORCE_COLOR: '1' })).toContain(escape)
  expect(await run('start', { NO_COLOR: '1' })).not.toContain(escape)
})
