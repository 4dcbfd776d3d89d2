/** Projects, their keys and their spending. Contract, service.md#project, #webhook-security-pair. */
import { MessagingWebhooksError } from '../public/errors.ts'
import { defined } from '../runtime/values.ts'
import { PROJECT_DEFAULTS } from './not-shown.ts'
import type { CallbackUrls, ProjectOptions, ProjectPatch } from './options.ts'
import type { KeyPair } from './request.ts'
import { drawHex, type Seed } from './random.ts'
import { withoutCredentials } from './http.ts'

/** All keys of a project. */
export interface ProjectKeys extends KeyPair {
  readonly apiKey: string
}

type Settings = { readonly [Name in keyof ProjectPatch]-?: Exclude<ProjectPatch[Name], undefined> }

/** The state of a project, without its keys and the credentials of its callback URLs. */
export interface ProjectState extends Settings {
  readonly name: string
  /** Message parts accepted today, by UTC. */
  readonly sentToday: number
}

const DAY_MS = 86_400_000

export type Projects = ReturnType<typeof createProjects>
export type Project = ReturnType<typeof createProject>

export function createProjects(options: readonly ProjectOptions[], seed: Seed, nowMs: () => number) {
  const projects = new Map(options.map((project) => [project.name, createProject(project, seed, nowMs)]))
  return {
    /** Default: the first project. Throws `emulator_project_unknown`. */
    get(name: string | undefined): Project {
      const project = name === undefined ? [...projects.values()][0] : projects.get(name)
      if (project !== undefined) return project
      const known = [...projects.keys()].map((other) => JSON.stringify(other)).join(', ')
      throw new MessagingWebhooksError('emulator_project_unknown', `It has ${known}.`)
    },
    find: (name: string): Project | undefined => projects.get(name),
    all: (): readonly Project[] => [...projects.values()],
  }
}

function createProject(options: ProjectOptions, seed: Seed, nowMs: () => number) {
  const { name, apiKey, authKey, signingSecret, ...given } = options
  /** 40 hexadecimal digits: a key for a local run, only as secret as its seed. */
  const draw = (key: keyof ProjectKeys, ...nth: readonly number[]) => drawHex(seed, key, name, ...nth).slice(0, 40)
  let keys: ProjectKeys = {
    apiKey: apiKey ?? draw('apiKey'),
    authKey: authKey ?? draw('authKey'),
    signingSecret: signingSecret ?? draw('signingSecret'),
  }
  let settings: Settings = { ...PROJECT_DEFAULTS, ...defined(given) }
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

  const state = () => ({ ...settings, name, sentToday: sentToday() })

  function shown(): ProjectState {
    const urls = Object.entries(defined(settings.callbackUrls)).map(
      ([kind, url]) => [kind, withoutCredentials(url)] as const,
    )
    const callbackUrls: CallbackUrls = Object.fromEntries(urls)
    return { ...state(), callbackUrls }
  }

  return {
    /** With the credentials of its callback URLs. */
    state,
    /** For display. */
    shown,
    keys: () => keys,
    /** The pair before the last rotation. */
    previousPair: () => previous,
    configure(patch: ProjectPatch): ProjectState {
      settings = { ...settings, ...defined(patch) }
      return shown()
    },
    rotate(pair: { readonly [Name in keyof KeyPair]?: string | undefined }): ProjectKeys {
      rotations += 1
      previous = { authKey: keys.authKey, signingSecret: keys.signingSecret }
      keys = {
        ...keys,
        authKey: pair.authKey ?? draw('authKey', rotations),
        signingSecret: pair.signingSecret ?? draw('signingSecret', rotations),
      }
      return keys
    },
    regenerate(given: string | undefined): ProjectKeys {
      regenerations += 1
      return (keys = { ...keys, apiKey: given ?? draw('apiKey', regenerations) })
    },
    /** Spends the credits and counts the parts. If credits (22) or volume (23) do not suffice, changes nothing. */
    spend(cost: number, parts: number): 22 | 23 | undefined {
      if (settings.balance < cost) return 22
      if (settings.volumeLimit !== null && sentToday() + parts > settings.volumeLimit) return 23
      settings = { ...settings, balance: settings.balance - cost }
      sent = sentToday() + parts
      return undefined
    },
  }
}
