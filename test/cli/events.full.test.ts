/** `events` as a process: recent events, one event, and one message's history, for each store. */
import { DatabaseSync } from 'node:sqlite'
import { createReceiver, type Store } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { AUTH_KEY, CREDENTIALS as credentials, jsonLines, runCli } from './cli.ts'
import { ownFile } from '../support/own-folder.ts'
import { hostOf } from '../support/stores.ts'

const TIMEOUT = { timeout: 180_000 }
const NOW_SECONDS = Math.floor(Date.now() / 1_000)
const SMS = { project: 'My Shop', messageId: 'm-1' }

/** A payment, and three reports of one message: the second comes first, so the first is late; the handler of the last fails. */
async function play(store: Store, projects = false): Promise<void> {
  const receiver = createReceiver({
    ...(projects ? { projects: { 'My Shop': credentials } } : { credentials }),
    store,
    retry: { attempts: 2, initialDelayMs: 1 },
    spool: false,
    logger: false,
  })
  onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
  receiver.on('message.failed', ({ status }) => {
    if (status === 'delivery_impossible') throw new Error('no luck\u001b[2J\u009b\u007f\u202e')
  })
  const bodies = [
    callback.payment({ id: 'pay-1', amount: 1250 }),
    callback.smsDelivery({ ...SMS, status: 'success', timestamp: NOW_SECONDS - 20 }),
    callback.smsDelivery({ ...SMS, status: 'network_failure', timestamp: NOW_SECONDS - 40 }),
    callback.smsDelivery({ ...SMS, status: 'delivery_impossible', timestamp: NOW_SECONDS - 10 }),
  ]
  for (const [index, body] of bodies.entries()) {
    const answer = await deliver(receiver.middleware(index === 0 ? 'payment' : 'status'), body, credentials)
    expect(answer.status).toBe(204)
    expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  }
  await receiver.close()
}

type Run = (...args: readonly string[]) => ReturnType<typeof runCli>

async function tellsAllOf(run: Run): Promise<void> {
  const all: string[] = []
  async function runWell(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    all.push(stdout)
    return stdout
  }

  const listed = jsonLines(await runWell('list', '--json'))
  expect(listed).toHaveLength(4)
  const ofType = (type: string, status?: string) =>
    listed.find((one) => one['type'] === type && (status === undefined || JSON.stringify(one).includes(`"${status}"`)))
  expect(ofType('payment')).toMatchObject({ state: 'settled', event: { data: { id: 'pay-1', amount: 1250 } } })
  const dead = ofType('message.failed', 'delivery_impossible')
  expect(dead).toMatchObject({ state: 'dead', attempts: 2, event: { messageId: 'm-1' } })
  expect(dead?.['error']).toContain('no luck')

  const lines = await runWell('list')
  expect(lines.trimEnd().split('\n')).toHaveLength(4)
  expect(lines).toMatch(
    /^[0-9a-f]{32} {2}\S+Z {2}payment +pay-1 {2}1250 {2}KES {2}completed {2}\[My Shop\] +settled \S+Z, without a handler$/m,
  )
  expect(lines).toMatch(
    /^[0-9a-f]{32} {2}\S+Z {2}message\.failed +m-1 .* do not send again .* dead \S+Z, after 2 attempts$/m,
  )

  const show = await runWell('show', String(dead?.['id']))
  expect(show).toMatch(/^state +dead \S+Z, after 2 attempts$/m)
  expect(show).toMatch(/^received +\S+Z, proved by both$/m)
  expect(show).toContain('"messageId": "m-1"')
  expect(show).toContain('Error: no luck\\u001b[2J\\u009b\\u007f\\u202e')

  const state = (await runWell('state', 'm-1')).trimEnd().split('\n')
  expect(state[0]).toMatch(
    /^latest {2}message\.failed {2}delivery_impossible {2}permanent, do not send again {2}at \S+Z$/,
  )
  expect(state.slice(2).map((line) => /network_failure|success|delivery_impossible/.exec(line)?.[0])).toEqual([
    'network_failure',
    'success',
    'delivery_impossible',
  ])
  const [life] = jsonLines(await runWell('state', 'm-1', '--json'))
  expect(life).toMatchObject({
    messageId: 'm-1',
    latest: { status: 'delivery_impossible', type: 'message.failed' },
    reports: [
      { type: 'late', report: { type: 'message.failed' } },
      { type: 'message.delivered' },
      { state: 'dead', type: 'message.failed' },
    ],
  })
  expect(all.join('')).not.toMatch(/[^\P{C}\n]/u)
  expect(all.join('')).not.toContain(AUTH_KEY)
}

async function knowsNoOther(run: Run): Promise<void> {
  const none = await run('state', 'm-2')
  expect(none).toMatchObject({ code: EXIT_CODES.notFound.code, stdout: '' })
  expect(none.stderr).toContain('error: There is no message m-2.\n')
  expect(none.stderr).toContain('--project')
  const unknown = await run('show', '0'.repeat(32))
  expect(unknown).toMatchObject({ code: EXIT_CODES.notFound.code, stdout: '' })
  expect(unknown.stderr).toContain(`error: There is no event ${'0'.repeat(32)}.\n`)
}

describe('events on an SQLite file', TIMEOUT, () => {
  const runOn =
    (path: string): Run =>
    (...args) =>
      runCli(['events', ...args, '--store', path])

  test('list, a page at a time, newest first; show and state; an empty store is not an error', async () => {
    const path = ownFile()
    const run = runOn(path)
    const store = await sqliteStore(path).open(hostOf())
    await store.close()
    expect(await run('list')).toEqual({ code: 0, stdout: '', stderr: 'There are no events.\n' })
    await play(sqliteStore(path))
    await tellsAllOf(run)
    await knowsNoOther(run)
    const newest = await run('list', '--limit', '1', '--json')
    expect(jsonLines(newest.stdout)).toMatchObject([{ event: { status: 'delivery_impossible' } }])
    const after = /^For more, pass --after (\S+)\n$/.exec(newest.stderr)?.[1] ?? ''
    const rest = await run('list', '--after', after, '--json')
    expect(jsonLines(rest.stdout).map((one) => one['late'])).toEqual([true, false, false])
    expect(jsonLines(rest.stdout).at(-1)).toMatchObject({ type: 'payment' })
  })

  test('reports an event that is no longer kept or is corrupt', async () => {
    const path = ownFile()
    await play(sqliteStore(path))
    const db = new DatabaseSync(path)
    const gone = db.prepare('DELETE FROM payloads WHERE seq = 1 RETURNING lower(hex(id)) AS id').get()
    db.exec(`UPDATE payloads SET record = CAST('{' AS BLOB) WHERE seq = 2`)
    db.close()
    const listed = jsonLines((await runOn(path)('list', '--json')).stdout)
    // An event whose payload was removed is found by its message alone.
    expect(listed.map(({ type }) => type)).toEqual(['message.failed', 'late', undefined])
    expect((await runOn(path)('show', String(gone?.['id']))).code).toBe(EXIT_CODES.notFound.code)
    expect((await runOn(path)('state', 'm-1')).stdout).toContain('unreadable')
  })

  test('a message of a receiver with projects is found by its project, and not without it', async () => {
    const path = ownFile()
    await play(sqliteStore(path), true)
    expect(await runOn(path)('state', 'm-1', '--project', 'My Shop')).toMatchObject({ code: 0, stderr: '' })
    expect((await runOn(path)('state', 'm-1')).code).toBe(EXIT_CODES.notFound.code)
  })

  test('state mentions the refused requests that name the message, and nothing else is known of it', async () => {
    const path = ownFile()
    const receiver = createReceiver({ credentials, store: sqliteStore(path), logger: false })
    const mount = receiver.middleware('status')
    const forged = { authKey: 'a guess', signingSecret: 'a guess' }
    for (const status of ['success', 'network_failure'])
      expect((await deliver(mount, callback.smsDelivery({ ...SMS, status }), forged)).status).toBe(401)
    expect((await deliver(mount, callback.smsDelivery({ ...SMS, messageId: 'm-2' }), credentials)).status).toBe(204)
    await receiver.drain()
    await receiver.close()
    const { code, stdout, stderr } = await runOn(path)('state', 'm-1')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^refused requests that name it, without a valid proof$/m)
    expect(stdout.match(/^ {2}[0-9a-f]{12} .* signature_mismatch .* m-1$/gm)).toHaveLength(2)
    expect(stdout).not.toContain('reports in order')
    expect(stderr).toContain('quarantine reverify')
    const [life] = jsonLines((await runOn(path)('state', 'm-1', '--json')).stdout)
    expect(life).toMatchObject({ messageId: 'm-1', reports: [], refused: [{ code: 'signature_mismatch' }, {}] })
    expect(JSON.stringify(life)).not.toContain('a guess')
    expect((await runOn(path)('state', 'm-2')).stdout).not.toContain('refused')
    expect((await runOn(path)('state', 'm-3')).code).toBe(EXIT_CODES.notFound.code)
  })
})
