/**
 * The suite that every store passes.
 *
 * @module messaging-webhooks/store-conformance
 */
import { z } from 'zod'
import { checkOptions, functionLike, textOf, wholeNumberFrom } from '../check-options.ts'
import type { StoreCapabilities } from '../inbox/store.ts'
import { ADMIT_AND_CLAIM } from './admit-and-claim.ts'
import { ADMISSION } from './admission.ts'
import { BYTES } from './bytes.ts'
import { CLAIMING } from './claiming.ts'
import { EXPECTING } from './expecting.ts'
import { DURABILITY } from './durability.ts'
import { checkDamage, MOMENTS } from './damage.ts'
import { HOLDERS } from './holders.ts'
import { FORGETTING } from './forgetting.ts'
import { checkInterleavings } from './interleavings.ts'
import { LATEST } from './latest.ts'
import { LISTING } from './listing.ts'
import { SETTLING } from './settling.ts'
import { runOnFreshStore, type ConformanceCase, type ConformanceOptions, type Damage, type Need } from './suite.ts'

export type { ConformanceOptions, Damage, DamageMoment, DamageTarget, StoreUnderTest } from './suite.ts'

const CONCERNS: Readonly<Record<string, readonly ConformanceCase[]>> = {
  admission: ADMISSION,
  claiming: CLAIMING,
  'admit and claim': ADMIT_AND_CLAIM,
  settling: SETTLING,
  latest: LATEST,
  listing: LISTING,
  holders: HOLDERS,
  forgetting: FORGETTING,
  expecting: EXPECTING,
  bytes: BYTES,
  durability: DURABILITY,
}

const INTERLEAVINGS = 100
const MOST_INTERLEAVINGS = 1_000_000

const optionsSchema = z.strictObject({
  test: functionLike,
  skip: functionLike.optional(),
  makeStore: functionLike,
  capabilities: z.strictObject({
    name: textOf('the name of the store'),
    durable: z.boolean(),
    shared: z.boolean(),
    spoolFolder: z.string().optional(),
    ownClock: z.boolean().optional(),
    admitsAndClaims: z.boolean().optional(),
    listsEvents: z.boolean().optional(),
    knowsHolders: z.boolean().optional(),
    forgets: z.boolean().optional(),
    expects: z.boolean().optional(),
  } satisfies Record<keyof StoreCapabilities, z.ZodType>),
  damages: z
    .array(
      // Whoever does the damage may keep there how.
      z.looseObject({
        name: textOf('the name of a damage'),
        leaves: z.enum(['whole', 'part', 'less', 'nothing', 'either']),
        at: z.array(z.enum(MOMENTS)).optional(),
        scatters: z.literal(true).optional(),
      } satisfies Record<keyof Damage, z.ZodType>),
    )
    .optional(),
  interleavings: wholeNumberFrom(1, MOST_INTERLEAVINGS).optional(),
} satisfies Record<keyof ConformanceOptions, z.ZodType>)

/**
 * Registers the conformance tests of the store contract with your test runner: each gets a fresh store from `makeStore`. A
 * test that does not apply to the store is skipped, with a reason. The times are the tests' own: a store with another clock
 * must be opened so that it takes each `nowMs` for its now. Needs the optional peer dependency `fast-check`. Throws an
 * `OptionsError` for an option that cannot work.
 */
export function storeConformance(options: ConformanceOptions): void {
  checkOptions(optionsSchema, options, 'storeConformance')
  const { test, makeStore, capabilities, damages, interleavings = INTERLEAVINGS } = options
  const { skip = (name, reason) => console.log(`skipped: ${name} (${reason})`) } = options
  for (const [concern, cases] of Object.entries(CONCERNS)) {
    for (const { name, needs, run } of cases) {
      const title = `${concern}: ${name}`
      const lacking = needs && lack(needs, capabilities)
      if (lacking === undefined) test(title, () => runOnFreshStore(makeStore, run))
      else skip(title, `the ${capabilities.name} store ${lacking}`)
    }
  }
  if (damages === undefined) skip('damage', `nobody can reach what the ${capabilities.name} store holds`)
  for (const damage of damages ?? [])
    for (const moment of damage.at ?? MOMENTS)
      test(`damage: ${damage.name}, ${moment}`, () =>
        runOnFreshStore(makeStore, (fixture) => checkDamage(fixture, damage, moment)))
  test('interleavings: every random sequence of steps agrees with the plain model', () =>
    checkInterleavings(async () => {
      const { store, dispose } = await makeStore()
      const open = await store.open({ onWork() {} })
      return {
        open,
        async close() {
          await open.close()
          await dispose?.()
        },
      }
    }, interleavings))
}

/** What such a store cannot do of what a test needs; undefined where the test applies. */
function lack(needs: Need, capabilities: StoreCapabilities): string | undefined {
  const { durable, ownClock, admitsAndClaims, listsEvents, knowsHolders, forgets, expects } = capabilities
  if (needs === 'events') return listsEvents === true ? undefined : 'has no events'
  if (needs === 'holders') return knowsHolders === true ? undefined : 'does not know its holders'
  if (needs === 'forget' || (needs === 'lasting forget' && durable))
    return forgets === true ? undefined : 'has no forget'
  if (needs === 'expect' || (needs === 'lasting expect' && durable))
    return expects === true ? undefined : 'has no expect'
  if (needs === 'admitAndClaim') return admitsAndClaims === true ? undefined : 'has no admitAndClaim'
  if (!durable) return 'is not durable'
  return needs === 'told times' && ownClock === true ? 'has a clock of its own' : undefined
}
