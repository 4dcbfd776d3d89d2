/** `workers` as a process, beside a receiver that has the store open. */
import { hostname } from 'node:os'
import { createReceiver, type Store } from 'messaging-webhooks'
import { postgresStore } from 'messaging-webhooks/postgres'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { describePostgres, freshSchema, POSTGRES_URL } from '../stores/postgres/schema.ts'
import { AUTH_KEY, jsonLines, POLL, runCli } from './cli.ts'
import { ownFile } from '../support/own-folder.ts'

const TIMEOUT = { timeout: 60_000 }

/** A receiver with one event in flight, and another process that observes. */
async function checkListing(store: Store, options: readonly string[], id: string): Promise<void> {
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY }, store, spool: false, logger: false })
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  let isRunning = false
  receiver.on('message.delivered', () => {
    isRunning = true
    return held
  })
  onTestFinished(async () => {
    release()
    await receiver.close()
  })
  const status = receiver.middleware('status')
  expect((await deliver(status, callback.smsDelivery(), { authKey: AUTH_KEY })).status).toBe(204)
  await expect.poll(() => isRunning, POLL).toBe(true)

  const command = ['workers', ...options]
  const { code, stdout, stderr } = await runCli(command)
  const who = `${hostname()}:${process.pid}`
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(
    new RegExp(`^${id} {2}${who} {2}since \\S+Z {2}heartbeat \\d+\\.\\d s ago {2}holds 1 event\n$`),
  )
  const [line, ...none] = jsonLines((await runCli([...command, '--json'])).stdout)
  expect(none).toEqual([])
  expect(line).toMatchObject({ name: who, held: 1 })

  const { workers } = await receiver.stats()
  expect(workers).toMatchObject([{ name: who, isSelf: true, held: 1 }])
  expect(workers?.[0]?.since).toBeInstanceOf(Date)
}

describe('workers of an SQLite file', () => {
  test('lists the processes that have the store open, since when, and what each holds', TIMEOUT, async () => {
    const path = ownFile()
    await checkListing(sqliteStore(path), ['--store', path], 'v1-[0-9a-f]{12}')
  })

  test('says that no process has the store open', TIMEOUT, async () => {
    const path = ownFile()
    await (await sqliteStore(path).open({ onWork() {} })).close()
    expect(await runCli(['workers', '--store', path])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No process has this store open.\n',
    })
  })
})

describePostgres('workers of a Postgres schema', () => {
  test('lists the processes that have the store open, since when, and what each holds', TIMEOUT, async () => {
    const schema = freshSchema()
    const store = postgresStore({ connectionString: POSTGRES_URL, schema })
    await checkListing(store, ['--store', POSTGRES_URL, '--schema', schema], '\\d+')
  })
})
