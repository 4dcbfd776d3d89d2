/**
 * Everything that can happen to a message, as plain data: commands, what the engine knows when it applies them, and the answers.
 * Commands carry durations, never instants, because only the engine knows the time.
 */
import type { NewEvent } from './event-record.ts'
import type { Expectation, KnownExpectation } from './expected.ts'
import type { MessageRecord } from './record.ts'
import type { Payload } from './views.ts'

interface Commands {
  /** Stores the event. Also leases it for so long if it is due and the first of its message. Durable once answered. */
  admit: { readonly event: NewEvent; readonly leaseForMs?: number | undefined }
  /** Leases the first event if it is due. */
  lease: { readonly forMs: number }
  /** Ends an attempt. `token`: that of the lease. Idempotent: repeat it after a lost answer. */
  settle: Settlement
  /** Ends the lease of a worker, or only the one with this token. */
  release: { readonly worker: string; readonly token?: number | undefined }
  /** Resolves a dead letter. */
  resolve: { readonly id: string; readonly as: Resolution }
  /** Records that the message was sent. Leaves a known send unchanged. */
  expect: { readonly send: NewSend }
  /** Admits the event that reports an overdue message, unless the message has reached an end. Final. */
  overdue: { readonly event: NewEvent }
  /** Ends the wait for reports of a send. `rest` is what remains recorded of it, nothing without it. */
  endSend: { readonly rest?: Expectation | undefined }
  /** Erases these events and, with the key among the ids or without ids, the send. */
  erase: { readonly ids?: readonly string[] | undefined; readonly dryRun: boolean }
  /** Removes what is past its retention. */
  expire: {}
  /** Makes events due that were admitted at a later time than it is now, because the clock was set back. */
  catchUp: {}
  /** Changes nothing. */
  read: {}
}

/** What a store answers to each command. */
interface Answers {
  admit: Admitted
  lease: Granted | undefined
  settle: Settled
  release: boolean
  /** Whether it was a dead letter. */
  resolve: boolean
  /** `full`: not recorded, the store has reached its limit. */
  expect: 'new' | 'known' | 'full'
  /** Whether it was admitted. */
  overdue: boolean | 'full'
  endSend: boolean
  erase: ErasedCounts
  expire: Expired
  catchUp: boolean
  read: MessageRecord | undefined
}

type CommandName = keyof Commands

/** What an engine needs to know of a command beside its fields. */
interface Traits {
  /** What it may add to a store, which may have no capacity for another one. */
  readonly adds?: 'event' | 'send'
  /** What its decision reads beside the record: a part of `Circumstances`. */
  readonly reads?: 'kept' | 'payload'
  /**
   * `durable`: survives a power failure once it is answered. `repeatable`: only repeats work if it is lost. `none`: changes
   * nothing.
   */
  readonly effect: 'durable' | 'repeatable' | 'none'
}

/** `adds` of a command is `event` exactly if it carries one. */
type TraitsOf<Name extends CommandName> = Commands[Name] extends { readonly event: NewEvent }
  ? Traits & { readonly adds: 'event' }
  : Traits & { readonly adds?: 'send' }

const TRAITS: { readonly [Name in CommandName]: TraitsOf<Name> } = {
  admit: { adds: 'event', effect: 'durable' },
  lease: { reads: 'payload', effect: 'repeatable' },
  settle: { effect: 'repeatable' },
  release: { effect: 'repeatable' },
  resolve: { effect: 'durable' },
  expect: { adds: 'send', effect: 'durable' },
  overdue: { adds: 'event', effect: 'durable' },
  endSend: { effect: 'durable' },
  erase: { reads: 'kept', effect: 'durable' },
  expire: { reads: 'kept', effect: 'repeatable' },
  catchUp: { effect: 'durable' },
  read: { effect: 'none' },
}

/** The traits of a command, for engines, so that none of them knows a command by its name. */
export function traitsOf({ do: name }: { readonly do: CommandName }): Traits {
  return TRAITS[name]
}

type CommandNamed<Name extends CommandName> = { readonly do: Name; readonly key: string } & Commands[Name]

/** A command for the message with this key. Plain data, so that it can be posted to another thread. */
export type Command = { [Name in CommandName]: CommandNamed<Name> }[CommandName]
export type CommandWithEvent = Extract<Command, { readonly event: NewEvent }>
export type Admit = CommandNamed<'admit'>
export type Lease = CommandNamed<'lease'>
export type Release = CommandNamed<'release'>
export type Settle = CommandNamed<'settle'>

export function carriesEvent(command: Command): command is CommandWithEvent {
  return traitsOf(command).adds === 'event'
}

/** The answer to a command. */
export type AnswerOf<C extends Command> = Answers[C['do']]

/**
 * `new`: stored. `late`: stored, but older than an event dispatched before. `duplicate`: known already, nothing changed. `full`:
 * not stored, the store has reached its limit of unsettled events. `crowded`: stored as a dead letter, because too many events of
 * its message wait.
 */
export type Admission = 'new' | 'late' | 'duplicate' | 'full' | 'crowded'

export interface Admitted {
  readonly admission: Admission
  /** The lease, if one was asked for and granted. */
  readonly granted: Granted | undefined
}

/** The end of an attempt. */
export type Settlement = { readonly id: string; readonly token: number } & Outcome

export type Outcome =
  /** `isUnhandled`: no handler listens to its type. The event is then stored with no attempt. */
  | { readonly outcome: 'done'; readonly isUnhandled?: true }
  | { readonly outcome: 'retry'; readonly inMs: number }
  /** No handler started, so the attempt does not count. */
  | { readonly outcome: 'release'; readonly inMs: number }
  | { readonly outcome: 'dead'; readonly error: string }

/**
 * `replay`: due again, as late if a later report was dispatched meanwhile. `force`: due again, never as late. `discard`:
 * settled, and only the identity is kept.
 */
export type Resolution = 'replay' | 'force' | 'discard'

/** A message that was sent. */
export interface NewSend {
  readonly expectation: Expectation
  /** Sort key of the list of sends. */
  readonly sentAtMs: number
  /** How long until it is overdue. Undefined if nothing more is awaited. */
  readonly overdueInMs: number | undefined
}

/** What the engine knows when it applies a command. */
export interface Circumstances {
  readonly nowMs: number
  /** The time by which data is too old: `nowMs`, unless the clock has jumped ahead recently. */
  readonly trustedMs: number
  /** The name under which this process leases. Undefined if it may not lease this message now. */
  readonly worker: string | undefined
  readonly retention: Retention
  /** The store has no capacity for another event, or another send. */
  readonly isFull: boolean
  /** The ids of the events whose payload is stored. Empty unless the command reads `kept`. */
  readonly kept: readonly string[]
  /** The payload of the first waiting event, if it is stored and the command reads `payload`. */
  readonly payload: Payload | undefined
}

export interface Settled {
  /** Whether the token was that of the last attempt. If not, nothing changed. */
  readonly held: boolean
  /** When the next event of the message can be leased. Undefined without one. */
  readonly nextInMs: number | undefined
}

/** How long data is kept. */
export interface Retention {
  /** How long payloads of settled events are kept. */
  readonly payloadMs: number
  readonly deadLetterMs: number
  /** How long duplicates are recognised and completed sends are remembered. */
  readonly dedupeMs: number
}

/** A leased event, as the worker gets it. */
export interface Granted {
  readonly id: string
  /** Fencing token. It grows with every lease, so a worker with an expired lease cannot settle. */
  readonly token: number
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly late: boolean
  readonly replay: boolean
  /** The send of its message, if the app recorded it. */
  readonly expected: KnownExpectation | undefined
  /** Answer of `lease` only. Undefined if the store has lost it. */
  readonly payload?: Payload | undefined
}

/** Whether the record is still needed, and whether anything in it expired. */
export type Expired = 'kept' | 'changed' | 'gone'

/** What `erase` has removed of one message. */
export interface ErasedCounts {
  readonly events: number
  readonly unsettled: number
  readonly deadLetters: number
  readonly states: number
}
