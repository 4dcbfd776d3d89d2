/** `quarantine` as a process: on the folder of a receiver that runs, and of one that has closed. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { occurrencesIn, ownFolder } from '../support/own-folder.ts'
import { AUTH_KEY, CREDENTIALS, jsonLines, KEYS, POLL, runCli } from './cli.ts'

const OLD = { authKey: 'auth-key-before-the-rotation', signingSecret: 'signing-secret-before-the-rotation' }
const SHOP = { project: 'My Shop\u001b[2J' }

/** A receiver that still has the old pair, and has refused two reports of a message, the later one first, and a forgery. */
async function refusing() {
  const folder = ownFolder()
  const path = join(folder, 'inbox.db')
  const receiver = createReceiver({ credentials: OLD, store: sqliteStore(path), logger: false })
  onTestFinished(() => receiver.close())
  await receiver.start()
  const timestamp = Math.floor(Date.now() / 1_000)
  const send = (fields: object, pair: object) =>
    deliver(receiver.middleware('status'), callback.smsDelivery({ ...SHOP, ...fields }), { ...CREDENTIALS, ...pair })
  expect((await send({ messageId: 'm-1', status: 'success', timestamp }, {})).status).toBe(401)
  expect(
    (
      await send(
        { messageId: 'm-1', status: 'left_with_neighbour', network: 'carrier-b', timestamp: timestamp - 9 },
        {},
      )
    ).status,
  ).toBe(401)
  expect((await send({ messageId: 'm-2' }, { signingSecret: 'a guess', authKey: 'a guess' })).status).toBe(401)
  await expect.poll(() => occurrencesIn(folder, 'm-2'), POLL).toBe(1)
  const run = (...args: readonly string[]) => runCli(['quarantine', ...args, '--store', path], KEYS)
  return { folder, path, receiver, run }
}

test('list prints what running and closed receivers keep, without keys; reverify admits it', async () => {
  const { path, receiver, run } = await refusing()
  const running = await run('list')
  expect({ code: running.code, stderr: running.stderr }).toEqual({ code: 0, stderr: '' })
  expect(running.stdout.match(/looksLikeOurs +signature_mismatch .* m-[12]$/gm)).toHaveLength(3)
  expect(running.stdout).not.toContain(AUTH_KEY)
  expect(running.stdout).not.toContain('\u001b')
  await receiver.close()

  const items = jsonLines((await run('list', '--json')).stdout)
  expect(items).toMatchObject([{ payload: { messageId: 'm-1', authKey: '***' } }, {}, {}])
  const guessing = await run('reverify', '--dry-run')
  expect(guessing.stderr).toContain('The network is "carrier-b"')
  const networks = ['--network', 'carrier-b=carrierB']
  const dry = await run('reverify', '--dry-run', ...networks)
  expect(dry).toEqual({ code: 0, stdout: 'Would be admitted: 2 of 3 requests. Still refused: 1.\n', stderr: '' })
  const done = await run('reverify', ...networks)
  expect(done).toEqual({ code: 0, stdout: 'Admitted: 2 of 3 requests. Still refused: 1.\n', stderr: '' })
  expect(jsonLines((await run('list', '--json')).stdout)).toMatchObject([{ payload: { messageId: 'm-2' } }])

  const next = createReceiver({ credentials: CREDENTIALS, store: sqliteStore(path), logger: false })
  onTestFinished(() => next.close())
  const types: string[] = []
  next.on(['message.*', 'late'], ({ type }) => void types.push(type))
  await next.start()
  await expect.poll(() => types, POLL).toEqual(['message.failed', 'message.delivered'])
})

test('a pair of a project admits the requests of that project alone', async () => {
  const { path, receiver, run } = await refusing()
  await receiver.close()
  const other = await run('reverify', '--project', 'Other', '--json')
  expect(jsonLines(other.stdout)).toMatchObject([{ examined: 3, admitted: 0 }])
  const own = await run('reverify', '--project', SHOP.project, '--json')
  expect(jsonLines(own.stdout)).toMatchObject([{ examined: 3, admitted: 2 }])
  const projects = { [SHOP.project]: CREDENTIALS }
  const next = createReceiver({ projects, store: sqliteStore(path), logger: false })
  onTestFinished(() => next.close())
  expect(await next.messageState('m-1', SHOP)).toMatchObject({ status: 'success' })
})

test('an empty folder is not created; mistakes are explained', async () => {
  const { receiver, path, folder, run } = await refusing()
  await receiver.close()
  const missing = join(folder, 'missing')
  const empty = await runCli(['quarantine', 'list', '--folder', missing])
  expect(empty).toEqual({ code: 0, stdout: '', stderr: 'The quarantine is empty.\n' })
  expect(existsSync(missing)).toBe(false)
  const keyless = await runCli(['quarantine', 'reverify', '--store', path])
  expect(keyless).toMatchObject({ code: EXIT_CODES.usage.code, stdout: '' })
  expect(keyless.stderr).toContain('SIGNING_SECRET')
  const network = await run('reverify', '--network', 'carrier-a')
  expect(network).toMatchObject({ code: EXIT_CODES.usage.code, stdout: '' })
  expect(network.stderr).toContain('Expected name=carrier')
  const soon = await run('reverify', '--clock-offset', 'soon')
  expect(soon).toMatchObject({ code: EXIT_CODES.usage.code, stdout: '' })
})
