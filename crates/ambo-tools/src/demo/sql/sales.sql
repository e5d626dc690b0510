select a.name as airline, count(*) as sold, sum(f.distance) as miles
from bookings b join flights f on f.id = b.flight_id join airlines a on a.carrier = f.carrier
group by a.name order by sold desc, airline limit 6
