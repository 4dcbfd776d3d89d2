/** `dead-letters` as a process, on the file of a receiver that has closed and of one that runs. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createReceiver, type WebhookEvent } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { storeAt } from '../../src/cli/stores.ts'
import { AUTH_KEY, jsonLines, POLL, runCli, SIGNING_SECRET } from './cli.ts'
import { ownFolder } from '../support/own-folder.ts'

const credentials = { signingSecret: SIGNING_SECRET, authKey: AUTH_KEY }

/** A file with a dead letter for each id, in this order. */
async function fileWithDeadLetters(...messageIds: readonly string[]): Promise<string> {
  const path = join(ownFolder(), 'inbox.db')
  const receiver = createReceiver({ credentials, store: sqliteStore(path), retry: { attempts: 1 }, logger: false })
  receiver.on('message.failed', ({ messageId }) => {
    throw new Error(`no luck with ${messageId}\u001b[2J`)
  })
  for (const messageId of messageIds) {
    const body = callback.smsDelivery({ messageId, status: 'network_failure' })
    const answer = await deliver(receiver.middleware('status'), body, {
      signingSecret: SIGNING_SECRET,
      authKey: AUTH_KEY,
    })
    expect(answer.status).toBe(204)
    expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
  }
  await receiver.close()
  return path
}

async function listed(path: string): Promise<readonly Record<string, unknown>[]> {
  const { code, stdout } = await runCli(['dead-letters', 'list', '--json'], { STORE_URL: path })
  expect(code).toBe(0)
  return jsonLines(stdout)
}

describe('dead-letters', { timeout: 180_000 }, () => {
  test('list, show, replay and discard', async () => {
    const path = await fileWithDeadLetters('m-1', 'm-2', 'm-3')
    const store = ['--store', path]
    const list = await runCli(['dead-letters', 'list', ...store])
    expect(list).toMatchObject({ code: 0, stderr: '' })
    const lines = list.stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(
      /^[0-9a-f]{32} {2}\S+Z {2}message\.failed {2}m-1 {2}1 attempts {2}Error: no luck with m-1\\u001b\[2J$/,
    )
    const ids = lines.map((line) => line.slice(0, 32))
    const [first = '', second = '', third = ''] = ids

    const show = await runCli(['dead-letters', 'show', second, ...store])
    expect(show).toMatchObject({ code: 0, stderr: '' })
    expect(show.stdout).toMatch(/^about +m-2$/m)
    expect(show.stdout).toContain('"messageId": "m-2"')
    expect(show.stdout).toContain('Error: no luck with m-2')
    expect(show.stdout).not.toContain('\u001b')
    expect(show.stdout).not.toContain(AUTH_KEY)

    const page = await runCli(['dead-letters', 'list', ...store, '--limit', '2', '--json'])
    expect(jsonLines(page.stdout).map(({ id }) => id)).toEqual([first, second])
    const after = /^For more, pass --after (\S+)\n$/.exec(page.stderr)?.[1] ?? ''
    const rest = await runCli(['dead-letters', 'list', ...store, '--after', after, '--json'])
    expect(jsonLines(rest.stdout)).toMatchObject([{ id: third, attempts: 1, event: { messageId: 'm-3' } }])

    expect(await runCli(['dead-letters', 'discard', first, ...store])).toEqual({
      code: 0,
      stdout: '1 dead letter discarded.\n',
      stderr: '',
    })
    const replay = await runCli(['dead-letters', 'replay', second, ...store])
    expect(replay).toMatchObject({ code: 0, stdout: '1 dead letter due again.\n' })
    expect(replay.stderr).toContain('in the next one that opens it')
    expect((await listed(path)).map(({ id }) => id)).toEqual([third])

    const missing = await runCli(['dead-letters', 'replay', first, third, ...store])
    expect(missing).toMatchObject({ code: EXIT_CODES.notFound.code, stdout: '1 dead letter due again.\n' })
    expect(missing.stderr).toContain(`error: There is no dead letter ${first}.\n`)
    expect((await runCli(['dead-letters', 'show', first, ...store])).code).toBe(EXIT_CODES.notFound.code)
    expect(await runCli(['dead-letters', 'list', ...store])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'There are no dead letters.\n',
    })

    // The next receiver dispatches the events that are due again.
    const events: WebhookEvent[] = []
    const receiver = createReceiver({ credentials, store: sqliteStore(path), logger: false })
    receiver.onAny((event) => void events.push(event))
    expect(await receiver.drain({ deadlineMs: 60_000 })).toBe(true)
    await receiver.close()
    expect(events.map((event) => 'messageId' in event && event.messageId).sort()).toEqual(['m-2', 'm-3'])
  })

  test('replay --all while the receiver runs and dispatches them', async () => {
    const path = await fileWithDeadLetters('m-1', 'm-2')
    const receiver = createReceiver({ credentials, store: sqliteStore(path), logger: false })
    onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
    const replayed: string[] = []
    receiver.on('message.failed', ({ messageId }, { replay }) => {
      if (replay) replayed.push(messageId)
    })
    await receiver.start()
    const { code, stdout } = await runCli(['dead-letters', 'replay', '--all', '--store', pathToFileURL(path).href])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 dead letters due again.\n' })
    await expect.poll(() => replayed.length, POLL).toBe(2)
    expect(replayed.sort()).toEqual(['m-1', 'm-2'])
  })
})

test('a store is named by a path or by a URL', async () => {
  const path = join(ownFolder(), 'a b.db')
  writeFileSync(path, '')
  for (const url of [path, `sqlite:${path}`, `sqlite://${path}`, pathToFileURL(path).href])
    expect((await storeAt(url)).capabilities.spoolFolder).toBe(`${path}-spool`)
})
