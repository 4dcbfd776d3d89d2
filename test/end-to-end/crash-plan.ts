/** What a process that will be killed is told: where it works, where it ends itself, and when its store is away. */

/** The moments in the life of an event at which a process may end. */
export const CRASH_POINTS = [
  'after-read',
  'after-verify',
  'in-batch',
  'after-commit-before-answer',
  'after-claim',
  'in-handler',
  'after-handler-before-settle',
  'after-settle',
] as const

export type CrashPoint = (typeof CRASH_POINTS)[number]

/** When the store is away: never, all the time, from some moment on, or until some moment. */
export const OUTAGES = ['none', 'all the time', 'from then on', 'until then'] as const

export type StoreOutage = (typeof OUTAGES)[number]

export interface CrashPlan {
  readonly folder: string
  readonly authKey: string
  readonly signingSecret: string
  /** The process ends itself when it comes to this point for the so-manieth time. */
  readonly crash?: { readonly point: CrashPoint; readonly passes: number }
  readonly outage?: StoreOutage
}

/** The file in the folder in which handlers write what they do. */
export const HANDLERS_LOG = 'handlers.log'
