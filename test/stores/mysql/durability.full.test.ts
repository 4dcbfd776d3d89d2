/** A server whose commits do not survive it says so at the start, and in the health of the receiver. */
import { createReceiver, type ErrorCode } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { expect, onTestFinished, test } from 'vitest'
import { startMysql } from '../../support/servers/mysql.ts'
import { describeMysql } from './database.ts'

const TIMEOUT = { timeout: 60_000 }

describeMysql('what a commit survives', () => {
  test.each([
    ['the default', {}, undefined],
    ['no flush at a commit', { 'innodb-flush-log-at-trx-commit': '0' }, 'innodb_flush_log_at_trx_commit is 0'],
    ['a flush once a second', { 'innodb-flush-log-at-trx-commit': '2' }, 'innodb_flush_log_at_trx_commit is 2'],
    ['a binary log that is not flushed', { 'log-bin': 'log', 'sync-binlog': '0' }, 'sync_binlog is 0'],
    ['a binary log that is flushed', { 'log-bin': 'log', 'sync-binlog': '1' }, undefined],
    ['no binary log', { 'sync-binlog': '0' }, undefined],
  ] as const)('%s', TIMEOUT, async (_, settings, expected) => {
    const server = await startMysql({ settings })
    onTestFinished(() => server.remove())
    const reported: { code: ErrorCode; message: string }[] = []
    const receiver = createReceiver({
      credentials: { authKey: 'unused', signingSecret: 'unused' },
      store: mysqlStore({ uri: server.url() }),
      spool: false,
      logger: false,
    })
    receiver.onError((error) => void reported.push(error))
    onTestFinished(() => receiver.close())
    await receiver.start()
    const codes = (await receiver.health()).reasons.map(({ code }) => code)
    if (expected === undefined) {
      expect([reported, codes]).toEqual([[], []])
      return
    }
    expect(reported).toMatchObject([{ code: 'store_unflushed', message: expect.stringContaining(expected) as string }])
    expect(codes).toEqual(['store_unflushed'])
  })
})
