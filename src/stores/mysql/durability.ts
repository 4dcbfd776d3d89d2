/** Whether a commit of the server survives its end, and that of its machine. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { sql } from '../../runtime/sql.ts'
import type { Ask } from '../sql/dialect.ts'
import { rowReader } from './reading.ts'

const FIND_FLUSHING = {
  name: 'mw_flushing',
  text: sql`
SELECT @@innodb_flush_log_at_trx_commit AS log, @@log_bin AS has_binary_log, @@sync_binlog AS binary_log`,
}

/**
 * The error to report if it does not. After the end of the machine, InnoDB undoes what the binary log lacks. Undefined if commits
 * survive.
 */
export async function flushProblem(ask: Ask): Promise<MessagingWebhooksError | undefined> {
  const [row = {}] = await ask(FIND_FLUSHING)
  const [log, binaryLog] = [rowReader.integer(row, 'log'), rowReader.integer(row, 'binary_log')]
  if (log !== 1 && log !== 3)
    return new MessagingWebhooksError('store_unflushed', `Its innodb_flush_log_at_trx_commit is ${log}.`)
  if (rowReader.integer(row, 'has_binary_log') === 1 && binaryLog !== 1)
    return new MessagingWebhooksError('store_unflushed', `It has a binary log, and its sync_binlog is ${binaryLog}.`)
  return undefined
}
