select f.month, f.day, a.name as airline, f.flight, f.origin, p.name as airport, f.dep_delay
from flights f join airlines a on a.carrier = f.carrier join airports p on p.faa = f.dest
where f.dep_delay is not null order by f.dep_delay desc, f.id limit 6
