/** `forget` as a process, on the file, spool and quarantine of closed receivers. */
import { join } from 'node:path'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { faultyStore } from '../support/faulty-store.ts'
import { CREDENTIALS as credentials, jsonLines, runCli } from './cli.ts'
import { occurrencesIn, ownFolder } from '../support/own-folder.ts'

const PERSON = '254700123456'
const OTHER = '254711999888'

/** A file with two events of each person, one of them a dead letter; one more of each in the spool, and in quarantine. */
async function receiverHasClosed() {
  const folder = ownFolder()
  const path = join(folder, 'inbox.db')
  const store = faultyStore(sqliteStore(path))
  const receiver = createReceiver({ credentials, store, retry: { attempts: 1 }, logger: false, storeTimeoutMs: 60_000 })
  receiver.on('message.failed', ({ messageId }) => {
    throw new Error(`no luck with ${messageId}`)
  })
  const send = (of: string, status: string, recipient: string, keys: object = credentials) =>
    deliver(
      receiver.middleware('status'),
      callback.chatApp({ statuses: { message_id: `${of}-${status}`, recipient, status } }),
      { ...credentials, ...keys },
    )
  for (const [of, recipient] of Object.entries({ mine: PERSON, other: OTHER })) {
    for (const status of ['sent', 'failed']) expect((await send(of, status, recipient)).status).toBe(204)
    expect((await send(of, 'read', recipient, { signingSecret: 'wrong', authKey: 'wrong' })).status).toBe(401)
  }
  expect(await receiver.drain()).toBe(true)
  store.fault = 'throws'
  for (const [of, recipient] of Object.entries({ mine: PERSON, other: OTHER }))
    expect((await send(of, 'delivered', recipient)).status).toBe(204)
  await receiver.close()
  return { folder, path }
}

describe('forget', { timeout: 180_000 }, () => {
  test('counts, then removes a person from the store, the spool and the quarantine of closed receivers', async () => {
    const { folder, path } = await receiverHasClosed()
    const args = ['forget', '--store', path, '--recipient', `+${PERSON}`]
    const before = occurrencesIn(folder, PERSON)
    expect(before).toBeGreaterThan(0)
    const counts = { events: 2, unsettled: 0, deadLetters: 1, messageStates: 2, spooled: 1, quarantined: 1 }

    const dry = await runCli([...args, '--dry-run', '--json'])
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    expect(jsonLines(dry.stdout)).toMatchObject([{ ...counts, dryRun: true }])
    expect(occurrencesIn(folder, PERSON)).toBeGreaterThan(0)

    const { code, stdout, stderr } = await runCli(args)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Removed:$/m)
    expect(stdout).toMatch(/^ +2 {2}events \(0 not settled, 1 dead letters\)$/m)
    expect(stdout).toMatch(/^ +1 {2}events in the spool$/m)
    expect(stdout).toMatch(/^ +1 {2}requests in quarantine$/m)
    expect(stderr).toMatch(/^Read \d+ records of the store in \d+ ms\.$/m)
    expect(stdout + stderr).not.toContain(PERSON)
    expect(occurrencesIn(folder, PERSON)).toBe(0)
    expect(occurrencesIn(folder, OTHER)).toBeGreaterThan(0)

    const again = await runCli([...args, '--json'])
    expect(jsonLines(again.stdout)).toMatchObject([
      { events: 0, deadLetters: 0, messageStates: 0, spooled: 0, quarantined: 0, dryRun: false },
    ])
  })

  test('accepts a message id and a time, and leaves the rest to the next receiver', async () => {
    const { path } = await receiverHasClosed()
    const [byId] = jsonLines(
      (await runCli(['forget', '--store', path, '--message-id', 'mine-failed', '--json'])).stdout,
    )
    expect(byId).toMatchObject({ events: 1, deadLetters: 1, messageStates: 1, spooled: 0, examined: 0 })
    const [early] = jsonLines((await runCli(['forget', '--store', path, '--before', '2001-01-31', '--json'])).stdout)
    expect(early).toMatchObject({ events: 0, spooled: 0, quarantined: 0 })

    const receiver = createReceiver({ credentials, store: sqliteStore(path), logger: false })
    const seen: string[] = []
    receiver.on('message.*', ({ messageId }) => void seen.push(messageId))
    await receiver.start()
    await expect.poll(() => seen.toSorted()).toEqual(['mine-delivered', 'other-delivered'])
    expect((await receiver.quarantine.list()).items).toHaveLength(2)
    const running = await runCli(['forget', '--store', path, '--recipient', PERSON, '--dry-run'])
    expect(running.stdout).toMatch(/^Would be removed:$/m)
    expect(running.stdout).toMatch(/^ +1 {2}requests in quarantine$/m)
    await receiver.close()
  })
})
