/**
 * The one function that decides what happens to a message. A store reads a record, calls `decide`, and writes the result; every
 * rule about duplicates, order, leases, retries, sends, erasure and retention is behind that call.
 */
import type { AnswerOf, Circumstances, Command } from './commands.ts'
import { admit, catchUp, lease, release, settle } from './events.ts'
import type { Decision, MessageRecord } from './record.ts'
import { resolve } from './replay.ts'
import { erase, expire } from './retention.ts'
import { becomeOverdue, endSend, expect } from './sends.ts'

/** Decides one command about one record. Pure: changes nothing, and depends on its arguments alone. */
export function decide<C extends Command>(
  record: MessageRecord | undefined,
  command: C,
  circumstances: Circumstances,
): Decision<AnswerOf<C>>
export function decide(
  record: MessageRecord | undefined,
  command: Command,
  circumstances: Circumstances,
): Decision<AnswerOf<Command>> {
  const { nowMs, trustedMs, retention, kept } = circumstances
  switch (command.do) {
    case 'admit':
      return admit(record, command, circumstances)
    case 'lease':
      return lease(record, command, circumstances)
    case 'settle':
      return settle(record, command, nowMs)
    case 'release':
      return release(record, command)
    case 'resolve':
      return resolve(record, command, nowMs)
    case 'expect':
      return expect(record, command.send, circumstances)
    case 'overdue':
      return becomeOverdue(record, command.event, circumstances)
    case 'endSend':
      return endSend(record, command.rest)
    case 'erase':
      return erase(record, { ...command, kept }, nowMs)
    case 'expire':
      return expire(record, { retention, kept }, trustedMs)
    case 'catchUp':
      return catchUp(record, nowMs)
    case 'read':
      return { answer: record }
  }
}
