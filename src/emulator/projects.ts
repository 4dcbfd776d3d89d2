/** Projects, their keys, and what they have spent. Contract, service.md#project, #webhook-security-pair. */
import type { CallbackKind } from '../public/events.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { PROJECT_DEFAULTS } from './not-shown.ts'
import { drawKey, type Seed } from './random.ts'

/** A callback URL for each kind; a kind without one gets no callbacks. */
export type CallbackUrls = Readonly<Partial<Record<CallbackKind, string | undefined>>>

/** What can be changed of a project while it runs. */
export interface ProjectPatch {
  /** Credits, of which each message part takes one. Default 1,000,000. */
  readonly balance?: number | undefined
  /** Message parts a day, by UTC; null for none. Default: none. */
  readonly volumeLimit?: number | null | undefined
  /** The sender of messages without a `from`. Default `EMULATOR`. */
  readonly senderId?: string | undefined
  /** The chat-app number that it sends from. Default 999300009999. */
  readonly phoneNumber?: string | undefined
  /** What customers write to. Default 22384. */
  readonly shortcode?: string | undefined
  /** Posts callbacks to https URLs only. Default false. */
  readonly enforceHttps?: boolean | undefined
  /** Where its callbacks are posted: `status`, `received`, `payment`, `subscription`. A change replaces them all. */
  readonly callbackUrls?: CallbackUrls | undefined
}

/** The webhook security pair. */
export interface KeyPair {
  readonly authKey: string
  readonly signingSecret: string
}

/** All keys of a project. */
export interface ProjectKeys extends KeyPair {
  readonly apiKey: string
}

/** What a project is at the start. Keys that are left out are made from the seed. */
export interface ProjectOptions extends ProjectPatch {
  /** The display name, compared exactly. */
  readonly name: string
  /** What a send carries. */
  readonly apiKey?: string | undefined
  /** What the body of each callback carries. */
  readonly authKey?: string | undefined
  /** What the signature of each callback is made with. */
  readonly signingSecret?: string | undefined
}

/** What a project is now, without its keys. */
export interface ProjectState {
  readonly name: string
  readonly balance: number
  readonly volumeLimit: number | null
  /** Message parts that were accepted today, by UTC. */
  readonly sentToday: number
  readonly senderId: string
  readonly phoneNumber: string
  readonly shortcode: string
  readonly enforceHttps: boolean
  readonly callbackUrls: CallbackUrls
}

export interface Project {
  readonly state: () => ProjectState
  readonly keys: () => ProjectKeys
  /** The pair before the last rotation. */
  readonly previousPair: () => KeyPair | undefined
  configure(patch: ProjectPatch): ProjectState
  rotate(pair: Partial<Record<keyof KeyPair, string | undefined>>): ProjectKeys
  regenerate(apiKey: string | undefined): ProjectKeys
  /** Takes the credits and counts the parts; where credits (22) or volume (23) do not suffice, takes nothing. */
  spend(cost: number, parts: number): 22 | 23 | undefined
}

export interface Projects {
  /** Throws `emulator_project_unknown`. */
  get(name: string | undefined): Project
  find(name: string): Project | undefined
  all(): readonly Project[]
}

const DAY_MS = 86_400_000

export function createProjects(
  options: readonly ProjectOptions[],
  { seed, nowMs }: { readonly seed: Seed; readonly nowMs: () => number },
): Projects {
  const projects = new Map(options.map((project) => [project.name, createProject(project, seed, nowMs)]))
  return {
    get(name) {
      const project = name === undefined ? [...projects.values()][0] : projects.get(name)
      if (project !== undefined) return project
      const known = [...projects.keys()].map((other) => JSON.stringify(other)).join(', ')
      throw new MessagingWebhooksError('emulator_project_unknown', `It has ${known}.`)
    },
    find: (name) => projects.get(name),
    all: () => [...projects.values()],
  }
}

type Settings = Omit<ProjectState, 'name' | 'sentToday'>

/** A field that is undefined changes nothing. */
function patched(settings: Settings, patch: ProjectPatch): Settings {
  return {
    balance: patch.balance ?? settings.balance,
    volumeLimit: patch.volumeLimit === undefined ? settings.volumeLimit : patch.volumeLimit,
    senderId: patch.senderId ?? settings.senderId,
    phoneNumber: patch.phoneNumber ?? settings.phoneNumber,
    shortcode: patch.shortcode ?? settings.shortcode,
    enforceHttps: patch.enforceHttps ?? settings.enforceHttps,
    callbackUrls: patch.callbackUrls ?? settings.callbackUrls,
  }
}

function createProject(options: ProjectOptions, seed: Seed, nowMs: () => number): Project {
  const { name } = options
  let keys: ProjectKeys = {
    apiKey: options.apiKey ?? drawKey(seed, 'apiKey', name),
    authKey: options.authKey ?? drawKey(seed, 'authKey', name),
    signingSecret: options.signingSecret ?? drawKey(seed, 'signingSecret', name),
  }
  let settings = patched(PROJECT_DEFAULTS, options)
  let previous: KeyPair | undefined
  let rotations = 0
  let regenerations = 0
  let day = 0
  let sent = 0

  function sentToday(): number {
    const today = Math.floor(nowMs() / DAY_MS)
    if (today !== day) sent = 0
    day = today
    return sent
  }

  const state = (): ProjectState => ({ name, ...settings, sentToday: sentToday() })

  return {
    state,
    keys: () => keys,
    previousPair: () => previous,
    configure(patch) {
      settings = patched(settings, patch)
      return state()
    },
    rotate(pair) {
      rotations += 1
      previous = { authKey: keys.authKey, signingSecret: keys.signingSecret }
      const authKey = pair.authKey ?? drawKey(seed, 'authKey', name, rotations)
      const signingSecret = pair.signingSecret ?? drawKey(seed, 'signingSecret', name, rotations)
      return (keys = { ...keys, authKey, signingSecret })
    },
    regenerate(apiKey) {
      regenerations += 1
      return (keys = { ...keys, apiKey: apiKey ?? drawKey(seed, 'apiKey', name, regenerations) })
    },
    spend(cost, parts) {
      if (settings.balance < cost) return 22
      if (settings.volumeLimit !== null && sentToday() + parts > settings.volumeLimit) return 23
      settings = { ...settings, balance: settings.balance - cost }
      sent = sentToday() + parts
      return undefined
    },
  }
}
