/** The page about moving from SQLite to Postgres: its program, run while the app stores callbacks in Postgres already. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { postgresStore } from 'messaging-webhooks/postgres'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, test, vi } from 'vitest'
import { describePostgres } from '../stores/postgres/schema.ts'
import { ownFolder } from '../support/own-folder.ts'
import { runProgram } from '../support/program.ts'
import { CREDENTIALS, post, receiving } from '../support/receiving.ts'
import { appFolder, blockOf, migratedDatabase } from './production-app.ts'

const HANDLERS = `
export const credentials = ${JSON.stringify(CREDENTIALS)}
export function attachHandlers(receiver) {
  receiver.onAny((event, { attempt }) => {
    console.log(event.type, event.messageId)
    if (event.messageId === 'retried' && attempt === 1) throw new Error('not yet')
  })
}
`

describePostgres('the program of the page', () => {
  test('runs what the file holds, before what Postgres has, and copies the sends', { timeout: 120_000 }, async () => {
    const folder = await appFolder()
    await writeFile(join(folder, 'move.ts'), blockOf('docs/guides/sqlite-to-postgres.md', 'ts'))
    await writeFile(join(folder, 'handlers.ts'), HANDLERS)
    const FILE = join(ownFolder(), 'inbox.db')
    const DATABASE_URL = await migratedDatabase(`mw_moved_${process.pid}`)

    const failing = await receiving({ store: sqliteStore(FILE), retry: { attempts: 1 } })
    failing.receiver.onAny(() => Promise.reject(new Error('never')))
    expect((await post(failing.url, callback.smsDelivery({ messageId: 'failed' }))).status).toBe(204)
    await vi.waitFor(async () => expect((await failing.receiver.stats()).deadLetters).toBe(1), { timeout: 20_000 })
    await failing.receiver.close()

    const old = await receiving({ store: sqliteStore(FILE), dispatch: false })
    for (const messageId of ['m-1', 'retried'])
      expect((await post(old.url, callback.smsDelivery({ messageId, status: 'sent' }))).status).toBe(204)
    const sentAt = new Date(Date.now() - 3_600_000)
    await old.receiver.sends.expect(
      { sentAt, from: 'SHOP', messages: [{ messageId: 'm-2', to: '254711000001' }] },
      { meta: { order: 4711 }, withinMs: 7_200_000 },
    )
    await old.receiver.close()

    const postgres = (): ReturnType<typeof postgresStore> => postgresStore({ connectionString: DATABASE_URL })
    const waiting = await receiving({ store: postgres(), dispatch: false })
    expect((await post(waiting.url, callback.smsDelivery({ messageId: 'm-1' }))).status).toBe(204)

    const moved = await runProgram(process.execPath, ['move.ts'], { cwd: folder, env: { FILE, DATABASE_URL } })
    expect(moved).toMatchObject({ code: 0 })
    const lines = moved.stdout.trim().split('\n')
    expect(lines.pop()).toBe(`Dead letters that stay in ${FILE}: 1`)
    expect(lines.filter((line) => !line.includes('are left')).toSorted()).toEqual([
      'message.sent m-1',
      'message.sent retried',
      'message.sent retried',
    ])
    await waiting.receiver.close()

    const now = await receiving({ store: postgres() })
    const events: unknown[] = []
    now.receiver.onAny((event) => void events.push(event))
    await now.receiver.start()
    await vi.waitFor(() => expect(events).toHaveLength(1), { timeout: 20_000 })
    expect((await post(now.url, callback.smsDelivery({ messageId: 'm-2' }))).status).toBe(204)
    await vi.waitFor(() => expect(events).toHaveLength(2), { timeout: 20_000 })
    expect(events).toMatchObject([
      { type: 'message.delivered', messageId: 'm-1' },
      {
        type: 'message.delivered',
        messageId: 'm-2',
        sent: {
          to: '254711000001',
          from: 'SHOP',
          meta: { order: 4711 },
          sentAt,
          overdueAt: new Date(sentAt.getTime() + 7_200_000),
        },
      },
    ])
  })
})
