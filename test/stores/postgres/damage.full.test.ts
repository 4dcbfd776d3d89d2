/** Each column of each table spoilt behind the store's back, at each moment of an event's life. */
import { damageSuite } from './damage-suite.ts'

damageSuite('damage', /, while it waits$|: dead_letters.*, once dead$/)
